import {
  type Allocation,
  allocationKind,
  type BookingEntry,
  type GPUUnit,
  type GPUUnitStatus,
  gpuUnitKind,
  type NodeBooking,
  type NodeUnit,
  nodeBookingKind,
  nodeNamespace,
  nodeUnitKind,
  nodeUnitName,
} from '@capstan/api';
import { ApiError, type Client, isAlreadyExists, isConflict, isForbidden, isNotFound, objectKey, type ResourceType } from '@capstan/client';
import { addFinalizer, type EventRecorder, ignoring, patchStatus, removeFinalizer } from '@capstan/controller';
import { isObject, type KubeObject } from '@capstan/machinery';
import { both } from '../reconciling/both.ts';
import { orderOf } from '../stock/order.ts';
import type { Promised, Shelf } from '../stock/stockroom.ts';
import { type Copies, ownedBy, podKind } from './copies.ts';
import { type Step, unitFinalizer } from './decide.ts';
import { eventsFor } from './events.ts';
import { nodeOf } from './nodes.ts';
import type { Configuration, Scene } from './scene.ts';
import { type Resolved, resolve, type Source, sourcesOf } from './secrets.ts';
import { startingStatus } from './status.ts';

export interface WorkOptions {
  readonly copies: Copies;
  /** In the workspace of the unit. */
  readonly client: Client;
  /** In root:platform. */
  readonly platform: Client;
  readonly events: EventRecorder;
  readonly wrote: (object: KubeObject, type?: Pick<ResourceType, 'group' | 'resource'>) => void;
  readonly now: () => number;
  readonly stockroom: Shelf;
}

const sourceKinds = {
  Secret: { group: '', version: 'v1', resource: 'secrets', namespaced: true },
  ConfigMap: { group: '', version: 'v1', resource: 'configmaps', namespaced: true },
};

/** One reconcile of a unit: the copies, with the answers to its own writes. */
export class Work {
  readonly #options: WorkOptions;
  #unit: GPUUnit;
  readonly #allocations: Map<string, Allocation>;
  readonly #nodeUnits: Map<string, NodeUnit>;
  readonly #bookings = new Map<string, NodeBooking | undefined>();
  #pod: KubeObject | undefined;
  #isPodTaken = false;
  #configuration: Configuration;
  readonly #absent = new Set<string>();
  readonly #sent = new Set<string>();

  constructor(unit: GPUUnit, options: WorkOptions) {
    const { copies } = options;
    const { uid = '' } = unit.metadata;
    this.#options = options;
    this.#unit = unit;
    this.#allocations = new Map(ownedBy(copies.allocations, uid).map((one) => [one.metadata.name ?? '', one]));
    this.#nodeUnits = new Map(ownedBy(copies.nodeUnits, uid).map((one) => [keyOf(one), one]));
    this.#pod = podOf(unit, copies);
    this.#configuration = { kind: sourcesOf(unit.spec).length === 0 ? 'complete' : 'unread' };
  }

  scene(): Scene {
    const { copies, now } = this.#options;
    return {
      unit: this.#unit,
      now: now(),
      allocations: [...this.#allocations.values()],
      nodeUnits: [...this.#nodeUnits.values()],
      pod: this.#pod,
      node: (name) => copies.nodes.get({ name }),
      silence: (node) => copies.leases.silence(node),
      booking: (node, allocation) =>
        entryIn(this.#bookings.has(node) ? this.#bookings.get(node) : copies.bookings.get({ name: node }), allocation),
      offering: (name) => copies.offerings.get({ name }),
      storage: (name) => copies.storages.get({ ...objectKey(this.#unit), name }),
      absent: this.#absent,
      readBookings: new Set(this.#bookings.keys()),
      sent: this.#sent,
      isPodTaken: this.#isPodTaken,
      configuration: this.#configuration,
    };
  }

  /** Does what was decided. Errors are thrown: the next reconcile decides again. */
  async perform(step: Exclude<Step, { kind: 'wait' }>): Promise<void> {
    switch (step.kind) {
      case 'protect':
        return this.#wroteUnit(await addFinalizer(this.#units(), this.#unit, unitFinalizer));
      case 'letGo':
        return this.#wroteUnit(await removeFinalizer(this.#units(), this.#unit, unitFinalizer));
      case 'status':
        return this.#writeStatus(step.status);
      case 'configure':
        return void (await this.#resolve());
      case 'allocate':
        return this.#allocate(step);
      case 'readBookings':
        return this.#readBookings(step.nodes);
      case 'start':
        return each(step.nodeUnits, (one) => this.#create(one));
      case 'stop':
        return each(step.nodeUnits, (one) => this.#stop(one, step.reason));
      case 'look':
        return each(step.nodes, (node) => this.#look(node));
      case 'remove':
        return each(step.nodeUnits, (one) => this.#remove(one));
      case 'release':
        return each(step.allocations, (one) => this.#release(one));
      case 'sendSecrets':
        return this.#sendSecrets(step.nodeUnits);
      case 'showPod':
      case 'reportPod':
      case 'hidePod':
        return this.#guarded(() => this.#writePod(step));
    }
  }

  #units() {
    return this.#options.client.resource<GPUUnit>(gpuUnitKind).in(this.#unit.metadata.namespace);
  }

  #wroteUnit(unit: GPUUnit): void {
    if (unit !== this.#unit) this.#options.wrote(unit);
    this.#unit = unit;
  }

  async #writeStatus(status: GPUUnitStatus): Promise<void> {
    const before = this.#unit;
    this.#wroteUnit(await patchStatus(this.#units(), before, status));
    for (const event of eventsFor(before.status, status)) this.#options.events.record(before, event);
  }

  async #allocate({ allocation, status }: Extract<Step, { kind: 'allocate' }>): Promise<void> {
    const resource = this.#options.client.resource<Allocation>(allocationKind).in(this.#unit.metadata.namespace);
    const { name = '' } = allocation.metadata;
    using promised = await this.#promised(allocation);
    const creating = ignoring(resource.create(allocation), isAlreadyExists);
    // With a promise, the finalizer is needed at once, and one status tells everything.
    const beside = promised === undefined ? status && this.#writeStatus(status) : this.perform({ kind: 'protect' });
    const created = await both(creating, beside);
    const made = created ?? (await resource.get(name));
    if (!made.metadata.ownerReferences?.some(({ uid }) => uid === this.#unit.metadata.uid))
      throw new Error(`the Allocation ${name} exists and belongs to something else; delete it`);
    const granted = created && promised && (await this.#take(created, promised, status));
    if (promised !== undefined && granted === undefined && status !== undefined) await this.#writeStatus(status);
    this.#options.wrote(granted ?? made, allocationKind);
    this.#allocations.set(name, granted ?? made);
  }

  /** The status names the node while the allocation is told about it: both come before anything is created there, in any order. */
  #take(created: Allocation, promised: Promised, begun: GPUUnitStatus | undefined): Promise<Allocation | undefined> {
    return promised.take(created, async (node) => {
      const scene = this.scene();
      const unit = begun === undefined ? scene.unit : { ...scene.unit, status: begun };
      await this.#writeStatus(startingStatus({ ...scene, unit }, [node]));
    });
  }

  /** Devices that this unit can have without waiting for the scheduler. */
  #promised(allocation: Allocation): Promise<Promised | undefined> {
    const order = orderOf(this.#unit, allocation);
    return order === undefined ? Promise.resolve(undefined) : this.#options.stockroom.promise(order);
  }

  async #readBookings(nodes: readonly string[]): Promise<void> {
    const resource = this.#options.platform.resource<NodeBooking>(nodeBookingKind);
    await each(nodes, async (node) => void this.#bookings.set(node, await ignoring(resource.get(node), isNotFound)));
  }

  #nodeUnitsIn(namespace: string | undefined) {
    return this.#options.platform.resource<NodeUnit>(nodeUnitKind).in(namespace);
  }

  async #create(nodeUnit: NodeUnit): Promise<void> {
    const { namespace, name = '' } = nodeUnit.metadata;
    const resource = this.#nodeUnitsIn(namespace);
    // It has the same content: the status has named the nodes before, and nothing else makes this name.
    this.#wroteNodeUnit((await ignoring(resource.create(nodeUnit), isAlreadyExists)) ?? (await resource.get(name)));
  }

  async #stop({ metadata: { namespace, name = '' } }: NodeUnit, reason: string): Promise<void> {
    const patch = { spec: { stopped: true, stopReason: reason } };
    this.#wroteNodeUnit(await this.#nodeUnitsIn(namespace).patch(name, { type: 'merge', patch }));
  }

  async #look(node: string): Promise<void> {
    const name = nodeUnitName(this.#unit.metadata.uid ?? '', this.#unit.status?.run ?? 0);
    const found = await ignoring(this.#nodeUnitsIn(nodeNamespace(node)).get(name), isNotFound);
    if (found === undefined) this.#absent.add(node);
    else this.#wroteNodeUnit(found);
  }

  async #remove(nodeUnit: NodeUnit): Promise<void> {
    const { namespace, name = '', uid = '' } = nodeUnit.metadata;
    await ignoring(this.#nodeUnitsIn(namespace).delete(name, { preconditions: { uid } }), isNotFound);
    this.#nodeUnits.delete(keyOf(nodeUnit));
  }

  #wroteNodeUnit(nodeUnit: NodeUnit): void {
    this.#options.wrote(nodeUnit, nodeUnitKind);
    this.#nodeUnits.set(keyOf(nodeUnit), nodeUnit);
  }

  async #release(allocation: Allocation): Promise<void> {
    const { name = '', namespace, uid = '' } = allocation.metadata;
    const resource = this.#options.client.resource<Allocation>(allocationKind).in(namespace);
    await ignoring(resource.delete(name, { preconditions: { uid } }), isNotFound);
    this.#allocations.delete(name);
  }

  async #resolve(): Promise<Resolved> {
    const { spec, metadata } = this.#unit;
    const found = new Map<string, KubeObject | undefined>();
    const idOf = ({ kind, name }: Source): string => `${kind}/${name}`;
    await each(sourcesOf(spec), async (source) => {
      const resource = this.#options.client.resource(sourceKinds[source.kind]).in(metadata.namespace);
      found.set(idOf(source), await ignoring(resource.get(source.name), isNotFound));
    });
    const resolved = resolve(spec, (source) => {
      const object = found.get(idOf(source));
      return object && { ...object, kind: source.kind };
    });
    this.#configuration = resolved.kind === 'complete' ? { kind: 'complete' } : resolved;
    return resolved;
  }

  async #sendSecrets(nodeUnits: readonly NodeUnit[]): Promise<void> {
    const resolved = await this.#resolve();
    if (resolved.kind === 'missing') return;
    await each(nodeUnits, async ({ metadata: { namespace, name = '' }, ...rest }) => {
      await this.#nodeUnitsIn(namespace).writeSubresource(name, { subresource: 'secrets', method: 'PUT', body: resolved.values });
      this.#sent.add(nodeOf({ metadata: { namespace, name }, ...rest } as NodeUnit));
    });
  }

  async #writePod(step: Extract<Step, { kind: 'showPod' | 'reportPod' | 'hidePod' }>): Promise<void> {
    const { name = '', namespace, uid = '' } = step.pod.metadata;
    const pods = this.#options.client.resource(podKind).in(namespace);
    if (step.kind === 'hidePod') {
      await ignoring(pods.delete(name, { gracePeriodSeconds: 0, preconditions: { uid } }), isNotFound);
      this.#pod = undefined;
      return;
    }
    this.#pod = step.kind === 'showPod' ? await pods.create(step.pod) : await patchStatus(pods, this.#pod ?? step.pod, step.status);
    this.#options.wrote(this.#pod, podKind);
  }

  /** A Pod that cannot be written, such as one whose name is taken, must not keep the unit from running. */
  async #guarded(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (isConflict(error) && !isAlreadyExists(error)) throw error;
      if (!(error instanceof ApiError) || error.code >= 500 || error.code === 429) throw error;
      this.#isPodTaken = true;
      if (isForbidden(error) && this.#unit.metadata.deletionTimestamp !== undefined) return;
      this.#options.events.warning(this.#unit, 'NoPod', `no Pod shows the unit: ${error.message}`);
    }
  }
}

function keyOf({ metadata: { namespace = '', name = '' } }: NodeUnit): string {
  return `${namespace}/${name}`;
}

function podOf({ metadata }: GPUUnit, { pods }: Copies): KubeObject | undefined {
  const cluster = metadata.annotations?.['kcp.io/cluster'];
  const found = pods.get({ ...(cluster !== undefined && { cluster }), namespace: metadata.namespace, name: metadata.name ?? '' });
  return isObject(found) && found.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) ? found : undefined;
}

/** Only what is granted to the attempt that counts. */
function entryIn(booking: NodeBooking | undefined, { metadata, status }: Allocation): BookingEntry | undefined {
  return booking?.spec.entries.find(
    (entry) => entry.state === 'Granted' && entry.attempt === status?.attempt && (entry.allocation.uid as string) === metadata.uid,
  );
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(items.map(work));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
