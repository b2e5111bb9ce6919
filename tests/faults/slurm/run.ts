import type { Cell, Operation } from '../cell.ts';
import { eventually } from '../eventually.ts';
import { commonFaults } from '../faults.ts';
import { FaultyOperation, type SlurmFault, type SlurmOperation } from './faulty-operation.ts';
import type { Place, SlurmWorld } from './world.ts';

const nothing = async (): Promise<void> => {};

export const slurmFaults: readonly SlurmFault[] = [
  ...commonFaults,
  { name: 'step ignores SIGTERM', mark: 'stubborn', deadline: '2s', inject: nothing, recover: nothing },
  { name: 'a gigabyte of output', mark: 'flood', inject: nothing, recover: nothing },
];

const patience = { within: 300_000, every: 500 };
let count = 0;

/** Deploys Slurm, repairs its node, adds another one, and removes that and everything again. The fault hits every step of the chosen operations. */
export async function runFault(world: SlurmWorld, fault: SlurmFault, isChosen: (operation: Operation) => boolean): Promise<Cell[]> {
  const name = `s${++count}`;
  const cells: Cell[] = [];
  const problems: string[] = [];
  const run = async (operation: SlurmOperation, begin: () => Promise<void>): Promise<void> => {
    if (!isChosen(operation)) return begin();
    const faulty = new FaultyOperation(world, fault, { name, operation });
    await faulty.run(begin);
    cells.push(...faulty.cells());
  };
  const runsJobs = async (after: SlurmOperation, on: readonly Place[]): Promise<void> => {
    await world.pause(name, false);
    const problem = await eventually('a job', () => settledProblem(world, name, on), patience).catch(String);
    if (problem !== '') problems.push(`after ${after}: ${problem}`);
  };
  const noneRuns = async (on?: readonly Place[]): Promise<void> => {
    const remains = await world.remains(on);
    if (remains !== '') problems.push(`still runs: ${remains}`);
  };
  await run('deploy', () => world.create(name));
  await runsJobs('deploy', ['compute']);
  if (isChosen('repair')) {
    await run('repair', () => world.repair(name));
    await runsJobs('repair', ['compute']);
  }
  if (isChosen('add') || isChosen('remove')) {
    await run('add', () => world.place(name, ['compute', 'added']));
    await runsJobs('add', ['compute', 'added']);
    await run('remove', () => world.place(name, ['compute']));
    await runsJobs('remove', ['compute']);
    await noneRuns(['added']);
  }
  await run('decommission', () => world.tenant.delete(name));
  const isGone = async (): Promise<true | undefined> => (await world.tenant.find(name)) === undefined || undefined;
  await eventually('the instance is gone', isGone, patience).catch((error: unknown) => problems.push(String(error)));
  await noneRuns();
  const last = cells.at(-1)!;
  return [...cells.slice(0, -1), { ...last, faults: [...last.faults, ...problems] }];
}

/** Empty if a job runs on all of these. Undefined while an operation goes on. */
async function settledProblem(world: SlurmWorld, name: string, on: readonly Place[]): Promise<string | undefined> {
  const { metadata, status } = (await world.tenant.find(name)) ?? {};
  const { state, observedGeneration, lastOperation, members } = status ?? {};
  if (state !== 'running' || observedGeneration !== metadata?.generation || lastOperation?.state !== 'succeeded') return undefined;
  if (members?.total !== on.length + 1) return undefined;
  return (await world.problem(on)) ?? '';
}
