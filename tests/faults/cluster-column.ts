import { appendFileSync, statSync, truncateSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AppOperation, AppStep } from '@capstan/api';
import type { Cell, Operation } from './cell.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { eventually } from './eventually.ts';
import { type CommonFault, commonFaults } from './faults.ts';
import type { NodeWorld } from './node-world.ts';

export interface ClusterFault extends Omit<CommonFault, 'inject' | 'recover'> {
  /** Before the deployment begins. */
  readonly prepare?: (world: ClusterWorld) => void;
  /** Whether it can happen in this step; in every one if absent. */
  readonly concerns?: (step: string) => boolean;
  readonly inject: (world: ClusterWorld, instance: string) => Promise<void>;
  readonly recover: (world: ClusterWorld) => Promise<void>;
}

const nothing = async (): Promise<void> => {};

/** The faults that every step of a cluster meets. */
export const clusterFaults: readonly ClusterFault[] = [
  ...commonFaults.map((fault): ClusterFault => ({ ...fault, inject: (world: NodeWorld) => fault.inject(world) })),
  { name: 'service killed', inject: (world) => world.killService(), recover: nothing },
  wrongChecksum(),
];

function wrongChecksum(): ClusterFault {
  /** The sizes of the files before. */
  const sizes = new Map<string, number>();
  return {
    name: 'wrong checksum of artifacts',
    prepare(world) {
      for (const file of world.artifactFiles) {
        sizes.set(file, statSync(file).size);
        appendFileSync(file, 'x');
      }
    },
    concerns: (step) => step.startsWith('deploy: fetch'),
    async inject(world, instance) {
      await eventually('an error', async () => ((await world.find(instance))?.status?.lastErrors ?? []).length > 0 || undefined);
    },
    async recover() {
      for (const [file, size] of sizes) truncateSync(file, size);
    },
  };
}

/** In milliseconds: how long an operation may take, and how often it is looked at. Some steps take little longer. */
const deadline = 400_000;
const interval = 10;
let count = 0;

/** What people do with a cluster between its deployment and its removal. */
const inBetween = ['snapshot', 'restore', 'repair'] as const;

/** Deploys a cluster, operates and removes it. The fault happens in each of its steps, one after the other. */
export async function runColumn(world: ClusterWorld, fault: ClusterFault, report: (line: string) => void): Promise<Cell[]> {
  const name = `c${++count}`;
  fault.prepare?.(world);
  await world.deploy(name);
  const run = new Run(world, { instance: name, fault, report });
  await run.follow('deploy');
  const wrong: string[] = [];
  if (!(await isEventually(() => world.isReady()))) wrong.push('the node of the cluster is not ready after the deployment');
  for (const type of inBetween) {
    // Each is possible once the platform has seen what it needs, such as a snapshot to go back to.
    const action = await eventually(type, () => world.actionOf(name, type)).catch(() => undefined);
    if (action === undefined) {
      wrong.push(`${type} has not become possible`);
      continue;
    }
    await world.ask(name, type, action);
    await run.follow(type);
    if (!(await isEventually(() => world.isReady()))) wrong.push(`the node of the cluster is not ready after ${type}`);
  }
  await eventually('the deletion', () => world.instances().delete(name));
  await run.follow('decommission');
  if (!(await isEventually(async () => (await world.find(name)) === undefined))) wrong.push('the instance cannot be deleted');
  const { items } = await world.operations().list();
  const residues = items.filter(({ spec }) => spec.instance === name).flatMap(({ status }) => status?.residues ?? []);
  for (const residue of residues) wrong.push(`left behind: ${residue.name}: ${residue.message}`);
  const owners = await eventually('the bookings', () => world.owners());
  if (owners.length > 1) wrong.push(`the node is booked by ${owners.join(' and ')}`);
  return run.cells(wrong);
}

async function isEventually(ask: () => Promise<boolean>): Promise<boolean> {
  return eventually('it', async () => (await ask()) || undefined).catch(() => false);
}

interface RunOptions {
  readonly instance: string;
  readonly fault: ClusterFault;
  readonly report: (line: string) => void;
}

type Draft = { -readonly [Key in keyof Cell]: Cell[Key] } & { readonly seen: Set<string> };

class Run {
  readonly #world: ClusterWorld;
  readonly #options: RunOptions;
  readonly #cells = new Map<string, Draft>();

  constructor(world: ClusterWorld, options: RunOptions) {
    this.#world = world;
    this.#options = options;
  }

  /** Lets the fault happen in each step of an operation when it begins, until the operation is over. */
  async follow(type: Operation): Promise<void> {
    for (const end = Date.now() + deadline; Date.now() < end; ) {
      const operation = await this.#operation(type);
      if (operation === 'gone') return;
      const steps = operation?.status?.steps ?? [];
      for (const step of steps) this.#see(type, step);
      this.#reasons(operation);
      const { state } = operation?.status ?? {};
      if (state === 'succeeded') return;
      if (state === 'failed' || state === 'needs_intervention') await this.#goOn(state);
      const fresh = steps.find((step) => step.state === 'running' && !this.#cells.has(keyOf(type, step)));
      if (fresh !== undefined) await this.#hit(type, fresh);
      else await sleep(interval);
    }
    for (const cell of this.#cells.values())
      if (cell.step.operation === type && cell.outcome !== 'completed by retry') cell.outcome = 'stuck';
  }

  cells(wrong: readonly string[]): Cell[] {
    const all = [...this.#cells.values()];
    // They cannot be blamed on one step.
    if (wrong.length > 0 && all.length > 0) all[0]!.faults = [...wrong];
    return all.map((one) => {
      const { seen: _seen, ...cell } = one;
      return cell;
    });
  }

  async #operation(type: string): Promise<AppOperation | 'gone' | undefined> {
    return eventually('the operation', async () => {
      const found = await this.#world.operation(this.#options.instance, type);
      if (found !== undefined) return found;
      return type === 'decommission' && (await this.#world.find(this.#options.instance)) === undefined ? 'gone' : undefined;
    });
  }

  async #hit(type: Operation, step: AppStep): Promise<void> {
    const { fault, instance, report } = this.#options;
    const key = keyOf(type, step);
    const name = key.slice(type.length + 2);
    this.#cells.set(key, {
      step: { operation: type, name },
      fault: fault.name,
      outcome: 'completed',
      reasons: [],
      begun: 1,
      attempts: 1,
      faults: [],
      seen: new Set(),
    });
    if (fault.concerns?.(key) === false) {
      this.#cells.get(key)!.outcome = 'does not apply';
      return;
    }
    report(`${key}: ${fault.name}`);
    await fault.inject(this.#world, instance);
    const said = await this.#world.find(instance).catch(() => undefined);
    if (said?.status?.message?.includes('silent') === true) this.#cells.get(key)!.seen.add('waits for the silent node');
    await fault.recover(this.#world);
  }

  #see(type: Operation, step: AppStep): void {
    const cell = this.#cells.get(keyOf(type, step));
    if (cell === undefined) return;
    cell.attempts = cell.begun = Math.max(cell.attempts, step.attempts ?? 1);
  }

  #reasons(operation: AppOperation | undefined): void {
    for (const { code, step } of operation?.status?.errors ?? []) {
      const found = operation?.status?.steps?.find(({ id }) => id === step);
      const cell = found && this.#cells.get(keyOf(operation!.spec.type, found));
      if (cell === undefined) continue;
      cell.seen.add(code);
      cell.reasons = [...cell.seen];
    }
    for (const cell of this.#cells.values()) cell.reasons = [...cell.seen];
  }

  /** Does what a person would. */
  async #goOn(state: 'failed' | 'needs_intervention'): Promise<void> {
    const { instance, report } = this.#options;
    const last = [...this.#cells.values()].at(-1);
    if (last !== undefined) last.outcome = state === 'failed' ? 'completed by retry' : 'completed by resume';
    report(`${instance} is ${state}: ${(await this.#world.find(instance))?.status?.message}`);
    await this.#world.ask(instance, state === 'failed' ? 'retry' : 'resume');
    await eventually('it goes on', async () => {
      const now = (await this.#world.find(instance))?.status?.lastOperation?.state;
      return now !== state || undefined;
    });
  }
}

/** `deploy: fetch-2`: steps of different members and versions have the same key. */
function keyOf(type: string, { id, member = '' }: AppStep): string {
  return `${type}: ${id.replace(`-${member}`, '')}`;
}
