import { appendFileSync, statSync, truncateSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AppOperation, AppStep } from '@capstan/api';
import type { Cell, Operation } from './cell.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { eventually } from './eventually.ts';
import { type CommonFault, commonFaults } from './faults.ts';
import type { Machine } from './machine.ts';
import type { Action } from './tenant.ts';

export interface ClusterFault extends Omit<CommonFault, 'inject' | 'recover'> {
  /** Before an operation begins. */
  readonly prepare?: (world: ClusterWorld, operation: Operation) => void;
  /** Whether it can happen in this step; in every one if absent. */
  readonly concerns?: (operation: Operation, step: string) => boolean;
  readonly inject: (place: FaultPlace) => Promise<void>;
  readonly recover: (machine: Machine) => Promise<void>;
}

/** Where a fault happens: on the machine of a step. */
export interface FaultPlace {
  readonly world: ClusterWorld;
  readonly machine: Machine;
  readonly instance: string;
}

const nothing = async (): Promise<void> => {};

/** The faults that every step of a cluster meets. */
export const clusterFaults: readonly ClusterFault[] = [
  ...commonFaults.map((fault): ClusterFault => ({ ...fault, inject: ({ machine }) => fault.inject(machine) })),
  { name: 'service killed', inject: ({ world, machine }) => world.killService(machine), recover: nothing },
  wrongChecksum(),
];

function wrongChecksum(): ClusterFault {
  /** The sizes of the files before. */
  const sizes = new Map<string, number>();
  // A repair finds the right files on the node.
  const fetching: readonly Operation[] = ['deploy', 'add'];
  return {
    name: 'wrong checksum of artifacts',
    prepare(world, operation) {
      if (!fetching.includes(operation)) return;
      for (const file of world.artifactFiles) {
        sizes.set(file, statSync(file).size);
        appendFileSync(file, 'x');
      }
    },
    concerns: (operation, step) => fetching.includes(operation) && step.startsWith('fetch'),
    async inject({ world, instance }) {
      await eventually('an error', async () => ((await world.tenant.find(instance))?.status?.lastErrors ?? []).length > 0 || undefined);
    },
    async recover() {
      for (const [file, size] of sizes) truncateSync(file, size);
    },
  };
}

/** In milliseconds: how long a step may take, and how often an operation is looked at. Some steps take little longer. */
const deadline = 400_000;
const interval = 10;
let count = 0;

/** What people do with a cluster between its deployment and its removal. */
const inBetween = ['snapshot', 'restore', 'repair'] as const;

export interface ColumnOptions {
  readonly report: (line: string) => void;
  readonly isChosen: (operation: Operation) => boolean;
}

/** Deploys a cluster, operates and removes it. The fault happens in each step of the chosen operations, one after the other. */
export async function runColumn(world: ClusterWorld, fault: ClusterFault, { report, isChosen }: ColumnOptions): Promise<Cell[]> {
  const name = `c${++count}`;
  const wrong: string[] = [];
  const cells: Cell[] = [];
  const run = async (type: Operation, begin: () => Promise<void>, nodes = 1): Promise<void> => {
    const after = await world.tenant.lastSequence(name);
    const faulty = new FaultyOperation(world, { instance: name, type, after, report, ...(isChosen(type) && { fault }) });
    if (isChosen(type)) fault.prepare?.(world, type);
    await begin();
    await faulty.follow();
    cells.push(...faulty.cells());
    if (type !== 'decommission' && !(await isEventually(() => world.isReady(nodes)))) wrong.push(`not all nodes are ready after ${type}`);
  };
  await run('deploy', () => world.deploy(name));
  for (const type of inBetween) {
    if (!isChosen(type) && !(type === 'snapshot' && isChosen('restore'))) continue;
    // Each is possible once the platform has seen what it needs, such as a snapshot to go back to.
    const action = await eventually(type, () => actionOf(world, name, type)).catch(() => undefined);
    if (action === undefined) wrong.push(`${type} has not become possible`);
    else await run(type, () => world.tenant.ask(name, type, action));
  }
  if (isChosen('add') || isChosen('remove')) {
    await run('add', () => world.place(name, { hasAgent: true }), 2);
    await run('remove', () => world.place(name, { hasAgent: false }));
  }
  await run('decommission', () => world.tenant.delete(name));
  if (!(await isEventually(async () => (await world.tenant.find(name)) === undefined))) wrong.push('the instance cannot be deleted');
  const { items } = await eventually('the operations', () => world.tenant.operations().list());
  const residues = items.filter(({ spec }) => spec.instance === name).flatMap(({ status }) => status?.residues ?? []);
  for (const residue of residues) wrong.push(`left behind: ${residue.name}: ${residue.message}`);
  const owners = await eventually('the bookings', () => world.owners());
  if (owners.length > 1) wrong.push(`the node is booked by ${owners.join(' and ')}`);
  // They cannot be blamed on one step.
  const [first, ...others] = cells;
  return first === undefined || wrong.length === 0 ? cells : [{ ...first, faults: wrong }, ...others];
}

/** An operation that is possible now; undefined if it is not. */
async function actionOf(world: ClusterWorld, instance: string, type: string): Promise<Action | undefined> {
  const { allowedActions = [], lastOperation } = (await world.tenant.find(instance))?.status ?? {};
  if (lastOperation?.state !== 'succeeded') return undefined;
  return allowedActions.find(({ action }) => action === type);
}

async function isEventually(ask: () => Promise<boolean>): Promise<boolean> {
  return eventually('it', async () => (await ask()) || undefined).catch(() => false);
}

interface FaultyOptions {
  readonly instance: string;
  readonly type: Operation;
  /** The operations before it have sequences up to this. */
  readonly after: number;
  /** None happens if absent. */
  readonly fault?: ClusterFault;
  readonly report: (line: string) => void;
}

type Draft = { -readonly [Key in keyof Cell]: Cell[Key] } & { readonly seen: Set<string> };

/** An operation of an instance that meets a fault in every step. */
class FaultyOperation {
  readonly #world: ClusterWorld;
  readonly #options: FaultyOptions;
  readonly #cells = new Map<string, Draft>();
  #machines: ReadonlyMap<string, Machine> = new Map();

  constructor(world: ClusterWorld, options: FaultyOptions) {
    this.#world = world;
    this.#options = options;
  }

  /** Lets the fault happen in each step when it begins, until the operation is over. */
  async follow(): Promise<void> {
    for (let end = Date.now() + deadline; Date.now() < end; ) {
      const operation = await this.#operation();
      if (operation === 'gone') return;
      const steps = operation?.status?.steps ?? [];
      for (const step of steps) this.#see(step);
      this.#reasons(operation);
      const { state } = operation?.status ?? {};
      if (state === 'succeeded') return;
      if (state === 'failed' || state === 'needs_intervention') await this.#goOn(state);
      const fresh = steps.find((step) => step.state === 'running' && !this.#cells.has(step.id));
      if (fresh !== undefined && this.#options.fault !== undefined) {
        await this.#hit(fresh, this.#options.fault);
        end = Date.now() + deadline;
      } else await sleep(interval);
    }
    for (const cell of this.#cells.values()) if (cell.outcome !== 'completed by retry') cell.outcome = 'stuck';
  }

  cells(): Cell[] {
    return [...this.#cells.values()].map(({ seen: _seen, ...cell }) => cell);
  }

  async #operation(): Promise<AppOperation | 'gone' | undefined> {
    const { instance, type, after } = this.#options;
    const { tenant } = this.#world;
    return eventually('the operation', async () => {
      const found = await tenant.operation(instance, type === 'add' || type === 'remove' ? 'change' : type, after);
      if (found !== undefined) return found;
      return type === 'decommission' && (await tenant.find(instance)) === undefined ? 'gone' : undefined;
    });
  }

  async #hit(step: AppStep, fault: ClusterFault): Promise<void> {
    const { instance, type, report } = this.#options;
    const name = nameOf(step);
    const cell: Draft = {
      step: { operation: type, name },
      fault: fault.name,
      outcome: 'completed',
      reasons: [],
      begun: 1,
      attempts: 1,
      faults: [],
      seen: new Set(),
    };
    this.#cells.set(step.id, cell);
    if (fault.concerns?.(type, name) === false) {
      cell.outcome = 'does not apply';
      return;
    }
    report(`${type}: ${name}: ${fault.name}`);
    if (this.#machines.size === 0) this.#machines = await this.#world.machines();
    const machine = this.#machines.get(step.member ?? '') ?? this.#world.machine;
    await fault.inject({ world: this.#world, machine, instance });
    const said = await this.#world.tenant.find(instance).catch(() => undefined);
    if (said?.status?.message?.includes('silent') === true) cell.seen.add('waits for the silent node');
    await fault.recover(machine);
  }

  #see(step: AppStep): void {
    const cell = this.#cells.get(step.id);
    if (cell === undefined) return;
    cell.attempts = cell.begun = Math.max(cell.attempts, step.attempts ?? 1);
  }

  #reasons(operation: AppOperation | undefined): void {
    for (const { code, step } of operation?.status?.errors ?? []) this.#cells.get(step ?? '')?.seen.add(code);
    for (const cell of this.#cells.values()) cell.reasons = [...cell.seen];
  }

  /** Does what a person would. */
  async #goOn(state: 'failed' | 'needs_intervention'): Promise<void> {
    const { instance, report } = this.#options;
    const last = [...this.#cells.values()].at(-1);
    if (last !== undefined) last.outcome = state === 'failed' ? 'completed by retry' : 'completed by resume';
    report(`${instance} is ${state}: ${(await this.#world.tenant.find(instance))?.status?.message}`);
    await this.#world.tenant.ask(instance, state === 'failed' ? 'retry' : 'resume');
    await eventually('it goes on', async () => {
      const now = (await this.#world.tenant.find(instance))?.status?.lastOperation?.state;
      return now !== state || undefined;
    });
  }
}

/** `fetch-2`: steps of different members and versions have the same name. */
const nameOf = ({ id, member = '' }: AppStep): string => id.replace(`-${member}`, '');
