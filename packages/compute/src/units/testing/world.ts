import {
  type Allocation,
  type BookingEntry,
  type GPUNode,
  type GPUUnit,
  millisecondsIn,
  type NodeUnit,
  type NodeUnitStatus,
  nodeNamespace,
  nodeUnitName,
} from '@capstan/api';
import { usedBy } from '@capstan/fleet';
import type { KubeObject } from '@capstan/machinery';
import { type Step, unitFinalizer } from '../decide.ts';
import { nodeOf } from '../nodes.ts';
import { isFinal, type Scene } from '../scene.ts';
import { startingStatus } from '../status.ts';

/** The unit that the controller wants to write does not exist any more. */
export class Gone extends Error {}

/** A program on a machine. */
interface Program {
  readonly nodeUnit: NodeUnit;
  isAlive: boolean;
  status: NodeUnitStatus;
}

/** A machine with its agent. */
export class Machine {
  readonly name: string;
  /** How much faster its clock is than ours. */
  readonly speed: number;
  readonly programs = new Map<string, Program>();
  isConnected = true;
  isOn = true;
  isLost = false;
  /** By our clock: when the agent sent the last renewal of its Lease that succeeded, and when the platform saw it. */
  renewedAt = 0;
  isReady = true;

  constructor(name: string, speed: number) {
    this.name = name;
    this.speed = speed;
  }

  /** The agent ends programs by itself after silence, whatever the control plane says. */
  fence(now: number): void {
    for (const program of this.programs.values()) {
      const { fenceAfter } = program.nodeUnit.spec;
      if (!program.isAlive || fenceAfter === undefined || (now - this.renewedAt) * this.speed < millisecondsIn(fenceAfter)) continue;
      program.isAlive = false;
      program.status = { phase: 'Ended', reason: 'Fenced', exitCode: 137 };
    }
  }

  switchOff(): void {
    this.isOn = false;
    this.isConnected = false;
    for (const program of this.programs.values()) program.isAlive = false;
  }

  switchOn(): void {
    this.isOn = true;
    for (const program of this.programs.values())
      if (!isOver(program.status)) program.status = { phase: 'Lost', reason: 'MachineRestarted' };
  }
}

const isOver = ({ phase }: NodeUnitStatus): boolean => phase === 'Ended' || phase === 'Lost';

interface Objects {
  unit: GPUUnit | undefined;
  readonly allocations: Map<string, Allocation>;
  readonly nodeUnits: Map<string, NodeUnit>;
}

/** A small cloud with one unit, in which everything can happen at any time between two steps of the controller. */
export class UnitWorld {
  now = 0;
  readonly machines: readonly Machine[];
  readonly stored: Objects;
  /** The entries of allocations, by node; they stay until the node is clean. */
  readonly bookings = new Map<string, BookingEntry[]>();
  #copies: Objects;
  /** The NodeUnits of the copies when they last caught up. */
  #synced = new Map<string, NodeUnit>();
  #isLagging = false;
  /** When the controller saw the last renewal of each Lease. */
  readonly #seen = new Map<string, { renewedAt: number; at: number }>();
  #absent = new Set<string>();
  #uids = 0;
  starts = 0;
  /** The fate of orders of one node: they take their turn, get a warm unit at once, or get one of which their allocation is never told. */
  stock: 'none' | 'ready' | 'breaks' = 'none';

  constructor(unit: GPUUnit, machines: readonly Machine[]) {
    this.machines = machines;
    this.stored = { unit, allocations: new Map(), nodeUnits: new Map() };
    this.#copies = copyOf(this.stored);
    this.restartController();
  }

  // The controller.

  /** A controller that starts has complete copies, and has heard of no node yet. */
  restartController(): void {
    this.#isLagging = false;
    this.#catchUp();
    for (const { name, renewedAt } of this.machines) this.#seen.set(name, { renewedAt, at: this.now });
    this.#absent = new Set();
  }

  get isLagging(): boolean {
    return this.#isLagging;
  }

  /** The copies catch up with the server. */
  syncCopies(): void {
    this.#catchUp();
    for (const { name, renewedAt } of this.machines)
      if (this.#seen.get(name)!.renewedAt !== renewedAt) this.#seen.set(name, { renewedAt, at: this.now });
  }

  /** The copy of the NodeUnits is so far behind that the controller has stopped to wait for its own writes. It stays so until the second of two calls. */
  lag(): void {
    this.#isLagging = !this.#isLagging;
    this.#copies = { ...this.#copies, nodeUnits: new Map(this.#synced) };
  }

  #catchUp(): void {
    const { nodeUnits } = this.#copies;
    this.#copies = copyOf(this.stored);
    if (this.#isLagging) this.#copies = { ...this.#copies, nodeUnits };
    else this.#synced = new Map(this.stored.nodeUnits);
  }

  /** A reconcile begins: what was read from the server before is forgotten. */
  beginReconcile(): void {
    this.#absent = new Set();
  }

  scene(): Scene | undefined {
    const { unit, allocations, nodeUnits } = this.#copies;
    if (unit === undefined) return undefined;
    return {
      unit,
      now: this.now,
      allocations: [...allocations.values()],
      nodeUnits: [...nodeUnits.values()],
      pod: undefined,
      node: (name) => this.#node(name),
      silence: (name) => this.now - this.#seen.get(name)!.at,
      booking: (node, { metadata, status }) =>
        (this.bookings.get(node) ?? []).find(
          (entry) => (entry.allocation.uid as string) === metadata.uid && entry.attempt === status?.attempt && entry.state === 'Granted',
        ),
      offering: () => undefined,
      storage: () => undefined,
      absent: this.#absent,
      readBookings: new Set(this.machines.map(({ name }) => name)),
      sent: new Set(),
      isPodTaken: true,
      configuration: { kind: 'complete' },
    };
  }

  /** Performs a step as the real controller does. Its own writes are in its copies at once. */
  perform(step: Step): void {
    const { stored } = this;
    switch (step.kind) {
      case 'protect':
        return this.#writeUnit((unit) => ({ ...unit, metadata: { ...unit.metadata, finalizers: [unitFinalizer] } }));
      case 'letGo':
        stored.unit = undefined;
        this.#copies.unit = undefined;
        return;
      case 'status':
        return this.#writeUnit((unit) => ({ ...unit, status: step.status }));
      case 'allocate': {
        if (step.status !== undefined) this.perform({ kind: 'status', status: step.status });
        const { name = '' } = step.allocation.metadata;
        const made = stored.allocations.get(name) ?? withUid(step.allocation, `allocation-${++this.#uids}`);
        stored.allocations.set(name, made);
        this.#copies.allocations.set(name, made);
        if (this.stock !== 'none' && made.status === undefined) this.#handOver(name, made);
        return;
      }
      case 'start':
        for (const one of step.nodeUnits) this.#create(one);
        return;
      case 'stop':
        for (const one of step.nodeUnits) this.#changeNodeUnit(keyOf(one), (spec) => ({ ...spec, stopped: true, stopReason: step.reason }));
        return;
      case 'look':
        for (const node of step.nodes) this.#look(node);
        return;
      case 'remove':
        for (const one of step.nodeUnits) {
          stored.nodeUnits.delete(keyOf(one));
          this.#copies.nodeUnits.delete(keyOf(one));
        }
        return;
      case 'release':
        for (const { metadata } of step.allocations) {
          this.deleteAllocation(metadata.name ?? '');
          this.#copies.allocations.delete(metadata.name ?? '');
        }
        return;
      default:
        throw new Error(`unexpected step ${step.kind}`);
    }
  }

  /** As from stock: the status of the unit names the node at the same time as that of the allocation. */
  #handOver(name: string, allocation: Allocation): void {
    const [free] = this.#free();
    if (free === undefined || allocation.spec.nodes > 1) return;
    this.#book(name, allocation, [free.name]);
    this.perform({ kind: 'protect' });
    this.perform({ kind: 'status', status: startingStatus(this.scene()!, [free.name]) });
    if (this.stock === 'breaks') return;
    const granted = this.#grant(allocation, [free.name]);
    this.stored.allocations.set(name, granted);
    this.#copies.allocations.set(name, granted);
  }

  #free(): Machine[] {
    return this.machines.filter((one) => one.isReady && !one.isLost && (this.bookings.get(one.name) ?? []).length === 0);
  }

  #book(name: string, { metadata }: Allocation, nodes: readonly string[]): void {
    for (const node of nodes) {
      const reference = { cluster: 'c', namespace: 'default', name, uid: metadata.uid! };
      const entry = { allocation: reference, attempt: 'one', state: 'Granted', devices: [`${node}-gpu`], cpu: 1, memory: 1 };
      this.bookings.set(node, [entry as unknown as BookingEntry]);
    }
  }

  #grant(allocation: Allocation, nodes: readonly string[]): Allocation {
    const parts = nodes.map((node) => ({ node, devices: [`${node}-gpu`] }));
    return { ...allocation, status: { phase: 'Active', attempt: 'one', parts } };
  }

  #writeUnit(change: (unit: GPUUnit) => GPUUnit): void {
    if (this.stored.unit === undefined) throw new Gone();
    // The status and the finalizers are the controller's; the spec in its copy may be older.
    this.stored.unit = change(this.stored.unit);
    this.#copies.unit = this.stored.unit;
  }

  #create(nodeUnit: NodeUnit): void {
    const key = keyOf(nodeUnit);
    const fresh: NodeUnit = { ...nodeUnit, status: { phase: 'Pending' } };
    const made = this.stored.nodeUnits.get(key) ?? withUid(fresh, `node-unit-${++this.#uids}`);
    this.stored.nodeUnits.set(key, made);
    this.#copies.nodeUnits.set(key, made);
  }

  #look(node: string): void {
    const { unit } = this.#copies;
    const key = `${nodeNamespace(node)}/${nodeUnitName(unit!.metadata.uid!, unit!.status!.run!)}`;
    const found = this.stored.nodeUnits.get(key);
    if (found === undefined) this.#absent.add(node);
    else this.#copies.nodeUnits.set(key, found);
  }

  #changeNodeUnit(key: string, change: (spec: NodeUnit['spec']) => NodeUnit['spec']): void {
    const found = this.stored.nodeUnits.get(key);
    if (found === undefined) return void this.#copies.nodeUnits.delete(key);
    const next = { ...found, spec: change(found.spec) };
    this.stored.nodeUnits.set(key, next);
    this.#copies.nodeUnits.set(key, next);
  }

  #node(name: string): GPUNode | undefined {
    const machine = this.machines.find((one) => one.name === name);
    if (machine === undefined) return undefined;
    const status = machine.isReady ? 'True' : 'Unknown';
    const conditions = [{ type: 'Ready', status, reason: 'Any', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }];
    return {
      apiVersion: '',
      kind: 'GPUNode',
      metadata: { name },
      spec: { lost: machine.isLost },
      status: { conditions },
    } as unknown as GPUNode;
  }

  // Everybody else.

  /** The owner of the unit changes its spec. */
  change(spec: Partial<GPUUnit['spec']>): void {
    const { unit } = this.stored;
    if (unit === undefined) return;
    this.stored.unit = {
      ...unit,
      metadata: { ...unit.metadata, generation: (unit.metadata.generation ?? 0) + 1 },
      spec: { ...unit.spec, ...spec },
    };
  }

  deleteUnit(): void {
    const { unit } = this.stored;
    if (unit === undefined) return;
    if (unit.metadata.finalizers === undefined) this.stored.unit = undefined;
    else this.stored.unit = { ...unit, metadata: { ...unit.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  }

  /** Its entries stay in the hands of the platform until their node is clean. */
  deleteAllocation(name: string): void {
    const found = this.stored.allocations.get(name);
    if (found === undefined) return;
    this.stored.allocations.delete(name);
    for (const [node, entries] of this.bookings)
      this.bookings.set(
        node,
        entries.map((entry) => ((entry.allocation.uid as string) === found.metadata.uid ? { ...entry, state: 'Cleaning' } : entry)),
      );
  }

  /** Grants what waits, on nodes that are heard and free, and goes on with what is booked. */
  schedule(): void {
    for (const [name, allocation] of this.stored.allocations) {
      if (allocation.status?.phase === 'Active') continue;
      const booked = [...this.bookings].flatMap(([node, entries]) =>
        entries.some((entry) => (entry.allocation.uid as string) === allocation.metadata.uid) ? [node] : [],
      );
      const free = this.#free().map((one) => one.name);
      if (booked.length === 0 && free.length < allocation.spec.nodes) continue;
      const nodes = booked.length > 0 ? booked : free.slice(0, allocation.spec.nodes);
      if (booked.length === 0) this.#book(name, allocation, nodes);
      this.stored.allocations.set(name, this.#grant(allocation, nodes));
    }
  }

  /** Cleans a node: ends everything of an allocation that is gone, as soon as its units have ended, and frees its devices. The owner removes a lost node, and with it its entries. */
  clean(machine: Machine): void {
    if (!machine.isConnected && !machine.isLost) return;
    const used = usedBy([...this.stored.nodeUnits.values()].filter((one) => nodeOf(one) === machine.name));
    const left = (this.bookings.get(machine.name) ?? []).filter(
      ({ state, allocation }) => state !== 'Granted' && !used.has(allocation.uid),
    );
    for (const entry of left)
      for (const program of machine.programs.values())
        if (program.isAlive && program.nodeUnit.spec.allocation === (entry.allocation.uid as string)) {
          program.isAlive = false;
          program.status = { phase: 'Ended', reason: 'Stopped', exitCode: 137 };
        }
    this.bookings.set(
      machine.name,
      (this.bookings.get(machine.name) ?? []).filter((entry) => !left.includes(entry)),
    );
  }

  /** An agent renews its Lease, does what its NodeUnits say, and reports. */
  work(machine: Machine): void {
    machine.fence(this.now);
    if (!machine.isConnected || machine.isLost) return;
    machine.renewedAt = this.now;
    for (const [key, nodeUnit] of this.stored.nodeUnits) {
      if (nodeOf(nodeUnit) !== machine.name) continue;
      const status = this.#run(machine, nodeUnit);
      this.stored.nodeUnits.set(key, { ...nodeUnit, status });
    }
    for (const [name, program] of machine.programs)
      if (!this.stored.nodeUnits.has(`${nodeNamespace(machine.name)}/${name}`)) program.isAlive = false;
  }

  /** It is started at most once, whatever happens to its object. */
  #run({ programs }: Machine, nodeUnit: NodeUnit): NodeUnitStatus {
    const { name = '' } = nodeUnit.metadata;
    let program = programs.get(name);
    if (program === undefined && nodeUnit.spec.stopped) return { phase: 'Ended', reason: 'Stopped' };
    if (program === undefined) {
      program = { nodeUnit, isAlive: true, status: { phase: 'Running', startedAt: '2026-01-01T00:00:00Z', ready: true } };
      programs.set(name, program);
      this.starts++;
    } else if (nodeUnit.spec.stopped && program.isAlive) {
      program.isAlive = false;
      program.status = { phase: 'Ended', reason: 'Stopped', exitCode: 143 };
    }
    return program.status;
  }

  /** A program ends by itself. */
  exit(machine: Machine, exitCode: number): void {
    for (const program of machine.programs.values()) {
      if (!program.isAlive) continue;
      program.isAlive = false;
      program.status = { phase: 'Ended', reason: exitCode === 0 ? 'Completed' : 'Error', exitCode };
    }
  }

  /** Judges whether nodes are heard, as the fleet does. */
  judge(): void {
    for (const machine of this.machines) machine.isReady = machine.isConnected && this.now - machine.renewedAt < 40_000;
  }

  /** Collects NodeUnits and Allocations whose unit is gone. */
  sweep(): void {
    if (this.stored.unit !== undefined) return;
    for (const name of [...this.stored.allocations.keys()]) this.deleteAllocation(name);
    for (const [key, nodeUnit] of this.stored.nodeUnits) {
      const machine = this.machines.find(({ name }) => name === nodeOf(nodeUnit))!;
      if (isFinal(nodeUnit) || machine.isLost) this.stored.nodeUnits.delete(key);
      else this.stored.nodeUnits.set(key, { ...nodeUnit, spec: { ...nodeUnit.spec, stopped: true } });
    }
  }

  /** Live programs, as `run node`. */
  live(): { readonly run: number; readonly node: string; readonly allocation: string }[] {
    return this.machines.flatMap(({ name, programs }) =>
      [...programs.values()].flatMap(({ isAlive, nodeUnit }) =>
        isAlive ? [{ run: nodeUnit.spec.run, node: name, allocation: nodeUnit.spec.allocation }] : [],
      ),
    );
  }
}

function keyOf({ metadata: { namespace = '', name = '' } }: KubeObject): string {
  return `${namespace}/${name}`;
}

function withUid<T extends KubeObject>(object: T, uid: string): T {
  return { ...object, metadata: { ...object.metadata, uid } };
}

function copyOf({ unit, allocations, nodeUnits }: Objects): Objects {
  return { unit, allocations: new Map(allocations), nodeUnits: new Map(nodeUnits) };
}
