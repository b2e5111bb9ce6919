import { cpus, totalmem } from 'node:os';
import { buildCapstan, type RunningApiServer, readConnection, type StoreDriver, startCapstan, startKubeApiserver } from '@capstan/testbed';
import { type Column, comparisonTable } from './measure/table.ts';
import { churn } from './profiles/churn.ts';
import { create } from './profiles/create.ts';
import { get } from './profiles/get.ts';
import { list } from './profiles/list.ts';
import { memory, rest } from './profiles/memory.ts';
import type { Amounts, Measurement, Profile, Subject } from './profiles/profile.ts';

const warmUp = 1_000;

interface Contender {
  readonly name: string;
  start(): Promise<RunningApiServer>;
}

/** Measures a kube-apiserver with etcd and Capstan side by side, each step first on one and then on the other. Gives markdown. */
export async function compare(store: StoreDriver, amounts: Amounts): Promise<string> {
  await buildCapstan();
  const contenders: Contender[] = [
    { name: 'kube-apiserver + etcd', start: () => startKubeApiserver() },
    { name: `capstan on ${store}`, start: () => startCapstan({ store }) },
  ];
  const columns = contenders.map(({ name }) => ({ name, measurements: [] as Measurement[] }));
  await runSteps(contenders, columns, [rest, warm, create, { ...amounts, clients: 1000 }, get, list, churn], amounts);
  await runSteps(contenders, columns, [memory], amounts);
  return `${machine()}\n\n${comparisonTable(columns)}\n`;
}

type Step = Profile | Amounts;

/** A step that is only amounts repeats the profile before it with them. */
async function runSteps(
  contenders: readonly Contender[],
  columns: readonly (Column & { measurements: Measurement[] })[],
  steps: readonly Step[],
  amounts: Amounts,
): Promise<void> {
  await using servers = new AsyncDisposableStack();
  const subjects: Subject[] = [];
  for (const [index, contender] of contenders.entries()) {
    const began = performance.now();
    const server = servers.use(await contender.start());
    const seconds = (performance.now() - began) / 1000;
    if (columns[index]!.measurements.length === 0)
      columns[index]!.measurements.push({ what: 'start to ready, with the store', value: seconds, unit: 's', better: 'lower' });
    subjects.push({ name: contender.name, address: readConnection(server.kubeconfig), pids: server.pids });
  }
  let profile: Profile = rest;
  for (const step of steps) {
    if (typeof step === 'function') profile = step;
    for (const [index, subject] of subjects.entries()) {
      process.stderr.write(`${profile.name} on ${subject.name}\n`);
      const measured = await profile(subject, typeof step === 'function' ? amounts : step);
      columns[index]!.measurements.push(...measured);
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
