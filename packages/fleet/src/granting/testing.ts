import type { Allocation, AllocationReference, NodeBookingSpec, NodeTask } from '@capstan/api';
import { asAllocationId } from '@capstan/api';
import { givenUp, nextEntries } from '../cleaning/next-entries.ts';
import { taskFor, taskName } from '../cleaning/task.ts';
import { FleetIndex } from '../placement/fleet-index.ts';
import type { FleetNode } from '../placement/node.ts';
import type { PlacementRequest } from '../placement/request.ts';
import { type Attempt, attemptsIn, entryFor, isAlive } from './attempt.ts';
import { addEntry, advanceEntry, type Change, emptyBooking } from './content.ts';
import { nextStep, type Step } from './next-step.ts';
import { type Verdict, verdictOn } from './verdict.ts';

/** An object in a store that only has compare-and-swap. */
interface Versioned<Value> {
  version: number;
  value: Value;
}

export interface Snapshot {
  readonly bookings: ReadonlyMap<string, Versioned<NodeBookingSpec>>;
  readonly allocations: ReadonlyMap<string, Versioned<Allocation>>;
}

/** The objects of the scheduler, with the writes of users and nodes. */
export class World {
  readonly nodes: readonly FleetNode[];
  readonly requests = new Map<string, PlacementRequest>();
  readonly bookings = new Map<string, Versioned<NodeBookingSpec>>();
  readonly allocations = new Map<string, Versioned<Allocation>>();
  /** Tasks that clean, by node and name. */
  readonly tasks = new Map<string, Map<string, NodeTask>>();
  /** The allocation that has left something on a device, by the uuid of the device. */
  readonly dirt = new Map<string, string>();

  constructor(nodes: readonly FleetNode[]) {
    this.nodes = nodes;
    for (const { name } of nodes) {
      this.bookings.set(name, { version: 1, value: emptyBooking });
      this.tasks.set(name, new Map());
    }
  }

  create(request: PlacementRequest): void {
    const uid = `a${this.requests.size}`;
    this.requests.set(uid, request);
    const spec = { offering: 'any', nodes: request.nodes, priority: 0 };
    this.allocations.set(uid, { version: 1, value: { apiVersion: '', kind: '', metadata: { name: uid, uid }, spec } as Allocation });
  }

  /** The user deletes an allocation. It stays until the platform has everything that it had. */
  delete(uid: string): void {
    const stored = this.allocations.get(uid);
    if (stored === undefined) return;
    const { metadata } = stored.value;
    this.#store(this.allocations, uid, { ...stored.value, metadata: { ...metadata, deletionTimestamp: 'now' } } as Allocation);
  }

  /** Removes the finalizer of allocations that are being deleted and have nothing any more. */
  collect(): void {
    const attempts = attemptsIn(this.bookings.entries().map(([node, { value }]) => [node, value] as const)).filter(isAlive);
    const booked = new Set(attempts.map(({ allocation }) => allocation.uid as string));
    for (const [uid, { value }] of this.allocations)
      if (value.metadata!.deletionTimestamp !== undefined && !booked.has(uid)) this.allocations.delete(uid);
  }

  /** Someone removes an allocation without waiting for anything. */
  destroy(uid: string): void {
    this.allocations.delete(uid);
  }

  /** An allocation runs something on a device, which must not have anything of another one. */
  use(uuid: string, uid: string): void {
    const before = this.dirt.get(uuid);
    if (before !== undefined && before !== uid) throw new Error(`${uid} got ${uuid}, on which ${before} has left something`);
    this.dirt.set(uuid, uid);
  }

  /** The agent of a node ends a task: nothing of the allocation is left on its devices, or something is. */
  endTask(node: string, name: string, phase: 'Succeeded' | 'Failed'): void {
    const task = this.tasks.get(node)!.get(name)!;
    const { allocation, devices = [] } = task.spec.nodeClean!;
    if (phase === 'Succeeded') for (const uuid of devices) if (this.dirt.get(uuid) === allocation) this.dirt.delete(uuid);
    const { attempt } = task.spec;
    this.tasks.get(node)!.set(name, { ...task, spec: { ...task.spec, attempt }, status: { phase, attempt, finishedAt: 'now' } });
  }

  /** A person tries again. */
  retryTask(node: string, name: string): void {
    const task = this.tasks.get(node)!.get(name)!;
    this.tasks.get(node)!.set(name, { ...task, spec: { ...task.spec, attempt: task.spec.attempt + 1 } });
  }

  read(): Snapshot {
    return { bookings: copy(this.bookings), allocations: copy(this.allocations) };
  }

  /** Succeeds only if the object is as it was read. */
  swapBooking(node: string, version: number, spec: NodeBookingSpec): boolean {
    if (this.bookings.get(node)!.version !== version) return false;
    this.#store(this.bookings, node, spec);
    return true;
  }

  swapAllocation(uid: string, version: number, allocation: Allocation): boolean {
    if (this.allocations.get(uid)?.version !== version) return false;
    this.#store(this.allocations, uid, allocation);
    return true;
  }

  #store<Value>(objects: Map<string, Versioned<Value>>, key: string, value: Value): void {
    objects.set(key, { version: (objects.get(key)?.version ?? 0) + 1, value });
  }
}

const copy = <Value>(objects: ReadonlyMap<string, Versioned<Value>>): Map<string, Versioned<Value>> =>
  new Map(objects.entries().map(([key, one]) => [key, { ...one }]));

/** One write that a scheduler has decided on and not done yet. Whatever happens in between, it must do no harm. */
export type Intent = () => boolean;

/** How a scheduler begins attempts. Schedulers that know different nodes choose different ones for the same allocation. */
export interface Beginning {
  readonly newAttempt: () => string;
  readonly nodes: readonly FleetNode[];
}

/** Everything that a scheduler could do next, by one look at the world. It keeps nothing in memory from one write to the next. */
export function intents(world: World, begin: Beginning): Intent[] {
  const seen = world.read();
  const attempts = attemptsIn(seen.bookings.entries().map(([node, { value }]) => [node, value] as const));
  const going = attempts.flatMap((attempt) => intentOf(world, seen, attempt));
  const known = new Set(attempts.filter(isAlive).map(({ allocation }) => allocation.uid as string));
  const waiting = [...seen.allocations.keys()].filter(
    (uid) => !known.has(uid) && verdictOn('new', seen.allocations.get(uid)!.value) === 'undecided',
  );
  if (waiting.length === 0) return going;
  const index = indexOf(seen, begin.nodes);
  return [...going, ...waiting.flatMap((uid) => beginning(world, seen, { uid, index, attempt: begin.newAttempt() }))];
}

function indexOf({ bookings }: Snapshot, nodes: readonly FleetNode[]): FleetIndex {
  const index = new FleetIndex();
  for (const node of nodes) index.setNode(node);
  for (const [node, { value }] of bookings)
    index.setBookings(node, new Map(value.entries.map((entry) => [`${entry.allocation.uid}/${entry.attempt}`, entry])));
  return index;
}

function intentOf(world: World, seen: Snapshot, attempt: Attempt): Intent[] {
  const { uid } = attempt.allocation;
  // Read after the bookings, as `verdictOn` asks for.
  const verdict = verdictOn(attempt.name, seen.allocations.get(uid)?.value);
  const stepIf = (isBlocked: boolean): Step => nextStep(attempt, { verdict, isBlocked });
  let step = stepIf(false);
  if (step.kind === 'hold' && holding(world, seen, { attempt, step }).kind === 'refused') step = stepIf(true);
  switch (step.kind) {
    case 'nothing':
      return [];
    case 'confirm':
      return [() => confirm(world, seen, attempt)];
    case 'hold':
      return [swap(world, seen, { node: step.part.node, change: holding(world, seen, { attempt, step }) })];
    case 'advance': {
      const { node, event } = step;
      const change = advanceEntry(seen.bookings.get(node)!.value, { uid, attempt: attempt.name }, event);
      return [swap(world, seen, { node, change })];
    }
  }
}

function holding(world: World, seen: Snapshot, { attempt, step }: { attempt: Attempt; step: Extract<Step, { kind: 'hold' }> }): Change {
  const { node } = step.part;
  const capacity = world.nodes.find(({ name }) => name === node)!;
  return addEntry(seen.bookings.get(node)!.value, entryFor(attempt, step.part), { event: 'hold', capacity });
}

function swap(world: World, seen: Snapshot, { node, change }: { node: string; change: Change }): Intent {
  const { version } = seen.bookings.get(node)!;
  return () => change.kind === 'write' && world.swapBooking(node, version, change.spec);
}

function confirm(world: World, seen: Snapshot, { allocation, name, parts }: Attempt): boolean {
  const { value, version } = seen.allocations.get(allocation.uid)!;
  const status = { phase: 'Active' as const, attempt: name, parts: parts.map(({ node, devices }) => ({ node, devices })) };
  const isActive = world.swapAllocation(allocation.uid, version, { ...value, status });
  // It may run now.
  if (isActive) for (const uuid of parts.flatMap(({ devices }) => devices)) world.use(uuid, allocation.uid);
  return isActive;
}

/** Everything that the controller of cleaning could do next, by one look at the world. */
export function cleanings(world: World): Intent[] {
  return [...world.read().bookings].flatMap(([node, { version, value }]): Intent[] => {
    const tasks = [...world.tasks.get(node)!.values()];
    const cleaned = givenUp(value, tasks);
    const missing = cleaned.filter(({ outcome }) => outcome.kind === 'missing');
    const next = nextEntries(value, cleaned);
    return [
      ...missing.map(({ entry }) => () => {
        const own = world.tasks.get(node)!;
        if (own.has(taskName(entry))) return false;
        const task = taskFor(node, entry);
        own.set(taskName(entry), { ...task, spec: { ...task.spec, attempt: 1 } });
        return true;
      }),
      ...(next === value ? [] : [() => world.swapBooking(node, version, next)]),
    ];
  });
}

/** Places a waiting allocation and books the first of its nodes. */
function beginning(world: World, seen: Snapshot, { uid, index, attempt }: { uid: string; index: FleetIndex; attempt: string }): Intent[] {
  const found = index.find(world.requests.get(uid)!);
  if (found === undefined) return [];
  const parts = found.parts.map(({ node, devices, cpu, memory }) => ({ node, devices, cpu, memory }));
  const exclusive = found.parts[0]!.exclusive ?? false;
  const allocation: AllocationReference = { cluster: 'tenant', namespace: 'default', name: uid, uid: asAllocationId(uid) };
  const [first] = parts;
  const change = addEntry(seen.bookings.get(first!.node)!.value, entryFor({ allocation, name: attempt, parts, exclusive }, first!), {
    event: parts.length > 1 ? 'hold' : 'grant',
    capacity: world.nodes.find(({ name }) => name === first!.node)!,
  });
  return [swap(world, seen, { node: first!.node, change })];
}

export function verdictIn(world: World, attempt: Attempt): Verdict {
  return verdictOn(attempt.name, world.allocations.get(attempt.allocation.uid)?.value);
}
