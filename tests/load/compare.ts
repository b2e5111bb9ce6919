import { cpus, totalmem } from 'node:os';
import { buildCapstan, type RunningApiServer, readConnection, type StoreDriver, startCapstan, startKubeApiserver } from '@capstan/testbed';
import { medians } from './measure/medians.ts';
import { type Column, comparisonTable, formatted } from './measure/table.ts';
import { profileNamed } from './profiles/named.ts';
import type { Amounts, Measurement, Profile, Subject } from './profiles/profile.ts';

/**
 * These run several times in alternation, after this many warm-up runs: both servers, and the generator, get faster in their first seconds
 * of a kind of work. Churn consists of four kinds of requests and 25 watchers in two seconds, and its first run does not compile all of it.
 */
const warmUps: Readonly<Record<string, number>> = { create: 1, get: 1, list: 1, churn: 2 };
const usualRounds = 3;

interface Contender {
  readonly name: string;
  start(): Promise<RunningApiServer>;
}

export interface ComparisonOptions {
  readonly store: StoreDriver;
  readonly amounts: Amounts;
  /** Names of profiles; empty for all. */
  readonly only: readonly string[];
  /** How often repeatable profiles run. */
  readonly rounds: number | undefined;
}

/** Profiles measured on the same two servers. Those that fill a server get new ones. */
const groups: readonly (readonly string[])[] = [['rest', 'create', 'get', 'list'], ['churn'], ['memory'], ['crd'], ['crds']];

/** Measures a kube-apiserver with etcd and Capstan side by side, each step first on one and then on the other. Returns Markdown. */
export async function compare({ store, amounts, only, rounds = usualRounds }: ComparisonOptions): Promise<string> {
  for (const name of only) profileNamed(name);
  await buildCapstan();
  const contenders: Contender[] = [
    { name: 'kube-apiserver + etcd', start: () => startKubeApiserver() },
    { name: `capstan on ${store}`, start: () => startCapstan({ store }) },
  ];
  // The first start after a build reads everything from disk, and compiles what later starts find in the cache.
  for (const contender of contenders) await (await contender.start())[Symbol.asyncDispose]();
  const columns = contenders.map(({ name }) => ({ name, measurements: [] as Measurement[] }));
  for (const group of groups) {
    const steps = group.filter((name) => only.length === 0 || only.includes(name)).flatMap((name) => stepsOf(name, amounts, rounds));
    if (steps.length > 0) await runSteps(contenders, columns, steps);
  }
  return `${machine()}\n\n${comparisonTable(columns)}\n`;
}

interface Step {
  readonly name: string;
  readonly profile: Profile;
  readonly amounts: Amounts;
  readonly rounds: number;
  /** Runs before those that count. */
  readonly warmUps: number;
}

function stepsOf(name: string, amounts: Amounts, rounds: number): Step[] {
  const before = warmUps[name];
  const step: Step = { name, profile: profileNamed(name), amounts, rounds: before === undefined ? 1 : rounds, warmUps: before ?? 0 };
  return name === 'create' ? [step, { ...step, amounts: { ...amounts, clients: 1000 } }] : [step];
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
  for (const step of steps) {
    const measured = await inTurns(step, subjects);
    for (const [index, subject] of subjects.entries()) {
      const middle = medians(measured[index]!);
      columns[index]!.measurements.push(...middle);
      for (const one of middle) process.stderr.write(`${subject.name}: ${one.what}: ${formatted(one)}\n`);
    }
  }
}

/** Round by round, alternating between the subjects, so that a slow minute of the machine affects both. */
async function inTurns({ name, profile, amounts, rounds, warmUps }: Step, subjects: readonly Subject[]): Promise<Measurement[][][]> {
  const measured = subjects.map((): Measurement[][] => []);
  for (let round = 1 - warmUps; round <= rounds; round++) {
    for (const [index, subject] of subjects.entries()) {
      process.stderr.write(`${name} on ${subject.name}, ${round <= 0 ? 'to warm up' : `${round} of ${rounds}`}\n`);
      const measurements = await profile(subject, amounts);
      if (round > 0) measured[index]!.push(measurements);
    }
  }
  return measured;
}

function machine(): string {
  return `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}, load generator included, ${new Date().toISOString().slice(0, 10)}`;
}
