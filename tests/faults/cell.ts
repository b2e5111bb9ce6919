import type { AppInstance } from '@capstan/api';
import { eventually } from './eventually.ts';
import type { Fault } from './faults.ts';
import type { World } from './world.ts';

/** The operations, in the order of the tables. */
export const operations = ['deploy', 'change', 'snapshot', 'restore', 'repair', 'add', 'remove', 'decommission'] as const;
export type Operation = (typeof operations)[number];

export interface PlannedStep {
  readonly operation: Operation;
  readonly name: string;
}

/** The steps of the adapter of `ledger/`. */
export const steps: readonly PlannedStep[] = [
  { operation: 'deploy', name: 'prepare' },
  { operation: 'deploy', name: 'start' },
  { operation: 'change', name: 'update' },
  { operation: 'decommission', name: 'stop' },
  { operation: 'decommission', name: 'remove' },
];

/** One cell of the table: what became of an operation after a fault in one of its steps. */
export interface Cell {
  readonly step: PlannedStep;
  readonly fault: string;
  readonly outcome: 'completed' | 'completed by retry' | 'completed by resume' | 'needs intervention' | 'stuck' | 'does not apply';
  /** Codes of the problems that the status named meanwhile. */
  readonly reasons: readonly string[];
  /** How many times the step has begun, and how many attempts the platform has counted. */
  readonly begun: number;
  readonly attempts: number;
  /** Rules that were broken. */
  readonly faults: readonly string[];
}

/** Everything that the status of an instance has said. */
class Watched {
  readonly reasons = new Set<string>();
  attempts = 1;

  see({ status }: AppInstance): void {
    for (const { code } of status?.lastErrors ?? []) this.reasons.add(code);
    const { attempts = 1, type, message = '' } = status?.lastOperation ?? {};
    if (type !== undefined) this.attempts = Math.max(this.attempts, attempts);
    if (message.includes('silent')) this.reasons.add('waits for the silent node');
  }
}

let count = 0;

/** Runs an operation with a fault in one of its steps, and then removes the instance. */
export async function runCell(world: World, step: PlannedStep, fault: Fault): Promise<Cell> {
  const name = `i${++count}`;
  const hold = `hold-${step.name}`;
  const watched = new Watched();
  const isRunning = async (): Promise<true | undefined> => (await world.tenant.find(name))?.status?.state === 'running' || undefined;
  fault.prepare?.(world, step.name);
  world.marks.set(hold);
  await world.create(name, { text: 'one', ...(fault.deadline !== undefined && { deadline: fault.deadline }) });
  if (step.operation !== 'deploy') await eventually('it is deployed', isRunning);
  if (step.operation === 'change') await world.tenant.change(name, { parameters: { text: 'two' } });
  if (step.operation === 'decommission') await world.tenant.instances().delete(name);
  await eventually(`${step.name} begins`, async () => world.begun(name, step.name) > 0 || undefined);
  await fault.inject(world);
  const said = await lookAt(world, name);
  if (said !== undefined) watched.see(said);
  if (fault.deadline !== undefined)
    await eventually('the step is ended', async () => {
      const instance = await world.tenant.find(name);
      if (instance !== undefined) watched.see(instance);
      return watched.reasons.size > 0 || undefined;
    });
  world.marks.unset(hold);
  await fault.recover(world, step.name);
  const outcome = await ending(world, { name, step, watched, within: fault.patience ?? 90_000 });
  const begun = world.begun(name, step.name);
  const isRemoved = await removal(world, name);
  const owners = await eventually('the bookings', () => world.owners());
  return {
    step,
    fault: fault.name,
    outcome,
    reasons: [...watched.reasons],
    begun,
    attempts: watched.attempts,
    faults: [
      ...(begun > watched.attempts ? [`the step began ${begun} times in ${watched.attempts} attempts`] : []),
      ...(isRemoved ? [] : ['the instance cannot be deleted']),
      ...(owners.length > 1 ? [`the node is booked by ${owners.join(' and ')}`] : []),
    ],
  };
}

async function lookAt(world: World, name: string): Promise<AppInstance | undefined> {
  try {
    return await world.tenant.find(name);
  } catch {
    return undefined;
  }
}

interface Run {
  readonly name: string;
  readonly step: PlannedStep;
  readonly watched: Watched;
  /** In milliseconds. */
  readonly within: number;
}

/** How the operation ended: by itself, by a retry, or not at all. */
async function ending(world: World, run: Run): Promise<Cell['outcome']> {
  const first = await settled(world, run);
  if (first !== 'failed') return first;
  await world.tenant.ask(run.name, 'retry');
  const second = await settled(world, { ...run, isAgain: true });
  return second === 'completed' ? 'completed by retry' : second === 'failed' ? 'stuck' : second;
}

async function settled(
  world: World,
  { name, step, watched, within, isAgain = false }: Run & { readonly isAgain?: boolean },
): Promise<'completed' | 'failed' | 'needs intervention' | 'stuck'> {
  try {
    return await eventually(
      'an end',
      async () => {
        const instance = await world.tenant.find(name);
        if (instance === undefined) return 'completed';
        watched.see(instance);
        const { type, state } = instance.status?.lastOperation ?? {};
        if (state === 'needs_intervention') return 'needs intervention';
        if (state === 'failed' && !isAgain) return 'failed';
        return state === 'succeeded' && (type === step.operation || type === 'retry') ? 'completed' : undefined;
      },
      { within },
    );
  } catch {
    return 'stuck';
  }
}

/** Every instance can be deleted, whatever happened to it. */
async function removal(world: World, name: string): Promise<boolean> {
  const isGone = async (): Promise<true | undefined> => {
    if ((await world.tenant.find(name)) === undefined) return true;
    await world.tenant.instances().delete(name);
    return undefined;
  };
  try {
    return await eventually(`${name} is deleted`, isGone, { every: 500 });
  } catch {
    return false;
  }
}
