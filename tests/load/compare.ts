import { cpus, totalmem } from 'node:os';
import { buildCapstan, type RunningApiServer, readConnection, type StoreDriver, startCapstan, startKubeApiserver } from '@capstan/testbed';
import { type Column, comparisonTable, formatted } from './measure/table.ts';
import { create } from './profiles/create.ts';
import { profileNamed } from './profiles/named.ts';
import type { Amounts, Measurement, Profile, Subject } from './profiles/profile.ts';

const warmUp = 1_000;

interface Contender {
  readonly name: string;
  start(): Promise<RunningApiServer>;
}

export interface ComparisonOptions {
  readonly store: StoreDriver;
  readonly amounts: Amounts;
  /** Names of profiles; all when empty. */
  readonly only: readonly string[];
}

/** What is measured on the same two servers. Whatever fills a server gets new ones. */
const groups: readonly (readonly string[])[] = [['rest', 'create', 'get', 'list', 'churn'], ['memory'], ['crd'], ['crds']];

/** Measures a kube-apiserver with etcd and Capstan side by side, each step first on one and then on the other. Gives markdown. */
export async function compare({ store, amounts, only }: ComparisonOptions): Promise<string> {
  for (const name of only) profileNamed(name);
  await buildCapstan();
  const contenders: Contender[] = [
    { name: 'kube-apiserver + etcd', start: () => startKubeApiserver() },
    { name: `capstan on ${store}`, start: () => startCapstan({ store }) },
  ];
  const columns = contenders.map(({ name }) => ({ name, measurements: [] as Measurement[] }));
  for (const group of groups) {
    const steps = group.filter((name) => only.length === 0 || only.includes(name)).flatMap((name) => stepsOf(name, amounts));
    if (steps.length > 0) await runSteps(contenders, columns, steps);
  }
  return `${machine()}\n\n${comparisonTable(columns)}\n`;
}

interface Step {
  readonly name: string;
  readonly profile: Profile;
  readonly amounts: Amounts;
}

function stepsOf(name: string, amounts: Amounts): Step[] {
  const step: Step = { name, profile: profileNamed(name), amounts };
  if (name !== 'create') return [step];
  return [{ name: 'warm', profile: warm, amounts }, step, { ...step, amounts: { ...amounts, clients: 1000 } }];
}

async function runSteps(
  contenders: readonly Contender[],
  columns: readonly (Column & { measurements: Measurement[] })[],
  steps: readonly Step[],
): Promise<void> {
  await using servers = new AsyncDisposableStack();
  const subjects: Subject[] = [];
  for (const [index, contender] of contenders.entries()) {
    const began = performance.now();
    const server = servers.use(await contender.start());
    const seconds = (performance.now() - began) / 1000;
    if (columns[index]!.measurements.length === 0)
      columns[index]!.measurements.push({ what: 'start to ready, with the store', value: seconds, unit: 's', better: 'lower' });
    subjects.push({ name: contender.name, address: readConnection(server.kubeconfig), pids: server.pids, restartable: server });
  }
  for (const { name, profile, amounts } of steps) {
    for (const [index, subject] of subjects.entries()) {
      process.stderr.write(`${name} on ${subject.name}\n`);
      const measured = await profile(subject, amounts);
      columns[index]!.measurements.push(...measured);
      for (const one of measured) process.stderr.write(`  ${one.what}: ${formatted(one)}\n`);
    }
  }
}

/** Both servers compile what they run often; what that costs at first is not what is asked here. */
async function warm(subject: Subject, amounts: Amounts): Promise<Measurement[]> {
  await create(subject, { ...amounts, count: warmUp });
  return [];
}

function machine(): string {
  return `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}, load generator included, ${new Date().toISOString().slice(0, 10)}`;
}
