import { parseArgs } from 'node:util';
import { readConnection } from '@capstan/testbed';
import { compare } from './compare.ts';
import { listeningProcess } from './measure/memory.ts';
import { comparisonTable } from './measure/table.ts';
import { churn } from './profiles/churn.ts';
import { create } from './profiles/create.ts';
import { get } from './profiles/get.ts';
import { list } from './profiles/list.ts';
import { memory, rest } from './profiles/memory.ts';
import type { Amounts, Measurement, Profile, Subject } from './profiles/profile.ts';
import { start } from './profiles/start.ts';

const profiles: ReadonlyMap<string, Profile> = new Map(Object.entries({ create, get, list, churn, memory, rest }));

const usage = `Measures API servers with the same work, one after the other.

  npm run load -- --kubeconfig A [--kubeconfig B] --profile create|get|list|churn|memory|rest
                  [--clients N] [--count N] [--seconds N] [--rounds N] [--pids 1,2] [--json]
  npm run load -- --profile start --command "capstan apiserver --data-dir d" --kubeconfig d/admin.kubeconfig
  npm run load -- --compare [--store sqlite|etcd]

--pids  processes whose memory counts beside the one that listens, such as etcd, for each kubeconfig in turn
`;

const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string', multiple: true, default: [] },
    profile: { type: 'string' },
    clients: { type: 'string' },
    count: { type: 'string' },
    seconds: { type: 'string', default: '120' },
    rounds: { type: 'string', default: '1' },
    pids: { type: 'string', multiple: true, default: [] },
    command: { type: 'string' },
    compare: { type: 'boolean', default: false },
    store: { type: 'string', default: 'sqlite' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const amounts: Amounts = {
  clients: values.clients === undefined ? undefined : wholeNumber('clients', values.clients),
  count: values.count === undefined ? undefined : wholeNumber('count', values.count),
  seconds: wholeNumber('seconds', values.seconds),
};

if (values.help) process.stdout.write(usage);
else if (values.compare) {
  if (values.store !== 'sqlite' && values.store !== 'etcd') throw new Error(`--store: expected sqlite or etcd, found ${values.store}`);
  process.stdout.write(await compare(values.store, amounts));
} else if (values.profile === 'start') await measureStart();
else await measure();

async function measure(): Promise<void> {
  const profile = profiles.get(values.profile ?? '');
  if (profile === undefined || values.kubeconfig.length === 0) {
    process.stderr.write(usage);
    process.exitCode = 2;
    return;
  }
  const subjects = values.kubeconfig.map(subjectOf);
  const rounds = subjects.map((): Measurement[][] => []);
  for (let round = 0; round < wholeNumber('rounds', values.rounds); round++) {
    for (const [index, subject] of subjects.entries()) rounds[index]!.push(await profile(subject, amounts));
  }
  print(subjects.map(({ name }, index) => ({ name, measurements: medians(rounds[index]!) })));
}

async function measureStart(): Promise<void> {
  const [kubeconfig] = values.kubeconfig;
  if (values.command === undefined || kubeconfig === undefined)
    throw new Error('--profile start needs --command and the --kubeconfig that the command makes');
  const measurements = await start(values.command, kubeconfig);
  print([{ name: values.command, measurements }]);
}

function print(columns: { name: string; measurements: Measurement[] }[]): void {
  process.stdout.write(values.json ? `${JSON.stringify(columns)}\n` : `${comparisonTable(columns)}\n`);
}

function subjectOf(kubeconfig: string, index: number): Subject {
  const address = readConnection(kubeconfig);
  const listening = listeningProcess(address.port);
  const given = (values.pids[index] ?? '').split(',').filter(Boolean).map(Number);
  return { name: kubeconfig, address, pids: [...(listening === undefined ? [] : [listening]), ...given] };
}

/** Number by number, the middle of all rounds. */
function medians(rounds: readonly Measurement[][]): Measurement[] {
  return rounds[0]!.map((measurement, row) => {
    const sorted = rounds.map((round) => round[row]!.value).sort((a, b) => a - b);
    return { ...measurement, value: sorted[Math.floor(sorted.length / 2)]! };
  });
}

function wholeNumber(name: string, value: string): number {
  if (!/^[1-9]\d*$/.test(value)) throw new Error(`--${name}: expected a whole number above 0, found ${value}`);
  return Number(value);
}
