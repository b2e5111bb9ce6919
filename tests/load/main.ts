import { parseArgs } from 'node:util';
import { readConnection, type StoreDriver } from '@capstan/testbed';
import { measureAgents } from './agents/measure.ts';
import { measureAllocations } from './allocations/measure.ts';
import { compare } from './compare.ts';
import { compareControllers } from './controllers/compare.ts';
import { fuzz } from './fuzz/measure.ts';
import { fuzzPlatform } from './fuzz/platform.ts';
import { measureHostile } from './hostile/measure.ts';
import { medians } from './measure/medians.ts';
import { listeningProcess } from './measure/memory.ts';
import { comparisonTable } from './measure/table.ts';
import { compareNomad } from './nomad/measure.ts';
import { measurePlacement } from './placement/measure.ts';
import { profileNamed } from './profiles/named.ts';
import type { Amounts, Measurement, Subject } from './profiles/profile.ts';
import { start, startWithMany } from './profiles/start.ts';
import { measureRest } from './rest/measure.ts';
import { compareRuns } from './run/measure.ts';
import { measureStock } from './stock/measure.ts';
import { measureUnits } from './units/measure.ts';

const usage = `Measures API servers with the same work, one after the other.

  npm run load -- --kubeconfig A [--kubeconfig B] --profile create|get|list|churn|memory|rest|crd|workspaces|bindings|streams|tunnels|tunnel-streams|idle-streams|idle-tunnel-streams
                  [--clients N] [--count N] [--crds N] [--seconds N] [--rounds N] [--pids 1,2] [--json]
  npm run load -- --profile start --command "capstan apiserver --data-dir d" --kubeconfig d/admin.kubeconfig
  npm run load -- --profile crds [--crds N] [--count N] --command "capstan apiserver --data-dir d" --kubeconfig d/admin.kubeconfig
  npm run load -- --compare [--store sqlite|etcd] [--only crd,crds] [--rounds N]
  npm run load -- --profile placement [--nodes N] [--count N] [--rounds N] [--json]
  npm run load -- --profile allocations [--nodes N] [--count N] [--clients N] [--rounds N] [--json]
  npm run load -- --profile agents [--nodes N] [--count N] [--clients N] [--rounds N] [--json]
  npm run load -- --profile nomad [--count N] [--clients N] [--json]
  npm run load -- --profile run [--count N] [--only nomad,podman] [--json]
  npm run load -- --profile rest-api [--count N] [--clients N] [--rounds N] [--json]
  npm run load -- --profile stock [--count N] [--rounds N] [--json]
  npm run load -- --profile units [--nodes N] [--count N] [--clients N] [--rounds N] [--json]
  npm run load -- --profile hostile [--store sqlite|etcd] [--seconds N] [--count N] [--only handshakes,lists]
  npm run load -- --profile fuzz [--store sqlite|etcd] [--minutes N] [--seed N] [--clients N]
  npm run load -- --profile fuzz-platform [--minutes N] [--seed N] [--clients N]
  npm run load -- --profile controllers [--store sqlite|etcd] [--only informers,namespace,idle] [--count N]

--only    profiles to compare, parts of the profile controllers, attacks of the profile hostile, or commands beside \`capstan run\` (default: all). --clients, --count and --crds change their amounts;
          --crds is the number of exports in the profile bindings, and of products that projects bind in the profile workspaces
--rounds  how many runs to take the median of (default: one for --profile, three for --compare, where both servers take turns)
--pids    processes whose memory counts besides the one that listens, such as etcd, for each kubeconfig in turn
`;

const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string', multiple: true, default: [] },
    profile: { type: 'string' },
    clients: { type: 'string' },
    count: { type: 'string' },
    seconds: { type: 'string', default: '120' },
    rounds: { type: 'string' },
    pids: { type: 'string', multiple: true, default: [] },
    command: { type: 'string' },
    compare: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    crds: { type: 'string' },
    nodes: { type: 'string' },
    store: { type: 'string', default: 'sqlite' },
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const amounts: Amounts = {
  clients: values.clients === undefined ? undefined : wholeNumber('clients', values.clients),
  count: values.count === undefined ? undefined : wholeNumber('count', values.count),
  definitions: values.crds === undefined ? undefined : wholeNumber('crds', values.crds),
  seconds: wholeNumber('seconds', values.seconds),
};

if (values.help) process.stdout.write(usage);
else if (values.compare) process.stdout.write(await compare({ store: storeDriver(), amounts, only: only(), rounds: rounds() }));
else if (values.profile === 'placement') measurePlacements();
else if (values.profile === 'allocations') await measureGrants();
else if (values.profile === 'agents') await measureFleet();
else if (values.profile === 'nomad') print(await compareNomad({ count: amounts.count, clients: amounts.clients }));
else if (values.profile === 'run') for (const columns of await compareRuns({ count: amounts.count, only: only() })) print(columns);
else if (values.profile === 'rest-api') await measureRestApi();
else if (values.profile === 'stock') await measureWarmStarts();
else if (values.profile === 'units') await measureManyUnits();
else if (values.profile === 'hostile')
  process.stdout.write(
    await measureHostile({
      store: storeDriver(),
      objects: amounts.count,
      only: only(),
      ...(values.seconds !== '120' && { seconds: amounts.seconds }),
    }),
  );
else if (values.profile === 'fuzz')
  process.stdout.write(
    await fuzz({
      store: storeDriver(),
      minutes: Number(values.minutes),
      seed: values.seed === undefined ? undefined : wholeNumber('seed', values.seed),
      clients: amounts.clients,
    }),
  );
else if (values.profile === 'fuzz-platform')
  process.stdout.write(
    await fuzzPlatform({
      minutes: Number(values.minutes),
      seed: values.seed === undefined ? undefined : wholeNumber('seed', values.seed),
      clients: amounts.clients,
    }),
  );
else if (values.profile === 'controllers')
  process.stdout.write(await compareControllers({ store: storeDriver(), count: amounts.count, only: only() }));
else if (values.profile === 'start' || values.profile === 'crds') await measureStarted(values.profile);
else await measure();

function storeDriver(): StoreDriver {
  if (values.store !== 'sqlite' && values.store !== 'etcd') throw new Error(`--store: expected sqlite or etcd, found ${values.store}`);
  return values.store;
}

function rounds(): number | undefined {
  return values.rounds === undefined ? undefined : wholeNumber('rounds', values.rounds);
}

function only(): string[] {
  return values.only.split(',').filter(Boolean);
}

async function measure(): Promise<void> {
  if (values.profile === undefined || values.kubeconfig.length === 0) {
    process.stderr.write(usage);
    process.exitCode = 2;
    return;
  }
  const profile = profileNamed(values.profile);
  const subjects = values.kubeconfig.map(subjectOf);
  const measured = subjects.map((): Measurement[][] => []);
  for (let round = 0; round < (rounds() ?? 1); round++) {
    for (const [index, subject] of subjects.entries()) measured[index]!.push(await profile(subject, amounts));
  }
  print(subjects.map(({ name }, index) => ({ name, measurements: medians(measured[index]!) })));
}

async function measureGrants(): Promise<void> {
  const measured: Measurement[][] = [];
  for (let round = 0; round < (rounds() ?? 1); round++)
    measured.push(await measureAllocations({ nodes: nodes(), count: amounts.count, clients: amounts.clients }));
  print([{ name: 'allocations', measurements: medians(measured) }]);
}

async function measureFleet(): Promise<void> {
  const measured: Measurement[][] = [];
  for (let round = 0; round < (rounds() ?? 1); round++)
    measured.push(await measureAgents({ nodes: nodes(), count: amounts.count, clients: amounts.clients }));
  print([{ name: 'agents', measurements: medians(measured) }]);
}

async function measureRestApi(): Promise<void> {
  const measured: Measurement[][] = [];
  for (let round = 0; round < (rounds() ?? 1); round++)
    measured.push(await measureRest({ count: amounts.count, clients: amounts.clients }));
  print([{ name: 'rest-api', measurements: medians(measured) }]);
}

async function measureWarmStarts(): Promise<void> {
  const measured: Measurement[][] = [];
  for (let round = 0; round < (rounds() ?? 1); round++) measured.push(await measureStock({ count: amounts.count }));
  print([{ name: 'stock', measurements: medians(measured) }]);
}

async function measureManyUnits(): Promise<void> {
  const measured: Measurement[][] = [];
  for (let round = 0; round < (rounds() ?? 1); round++)
    measured.push(await measureUnits({ nodes: nodes(), count: amounts.count, clients: amounts.clients }));
  print([{ name: 'units', measurements: medians(measured) }]);
}

function nodes(): number | undefined {
  return values.nodes === undefined ? undefined : wholeNumber('nodes', values.nodes);
}

function measurePlacements(): void {
  const measured = Array.from({ length: rounds() ?? 1 }, () => measurePlacement({ nodes: nodes(), count: amounts.count }));
  print([{ name: 'placement', measurements: medians(measured) }]);
}

async function measureStarted(profile: 'start' | 'crds'): Promise<void> {
  const [kubeconfig] = values.kubeconfig;
  if (values.command === undefined || kubeconfig === undefined)
    throw new Error(`--profile ${profile} needs --command and the --kubeconfig that the command writes`);
  const measurements =
    profile === 'start' ? await start(values.command, kubeconfig) : await startWithMany({ command: values.command, kubeconfig, amounts });
  print([{ name: values.command, measurements }]);
}

function print(columns: { name: string; measurements: readonly Measurement[] }[]): void {
  process.stdout.write(values.json ? `${JSON.stringify(columns)}\n` : `${comparisonTable(columns)}\n`);
}

function subjectOf(kubeconfig: string, index: number): Subject {
  const address = readConnection(kubeconfig);
  const listening = listeningProcess(address.port);
  const given = (values.pids[index] ?? '').split(',').filter(Boolean).map(Number);
  return { name: kubeconfig, address, pids: [...(listening === undefined ? [] : [listening]), ...given] };
}

function wholeNumber(name: string, value: string): number {
  if (!/^[1-9]\d*$/.test(value)) throw new Error(`--${name}: expected a whole number above 0, found ${value}`);
  return Number(value);
}
