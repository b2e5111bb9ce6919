import { type Allocation, type AllocationReference, asAllocationId } from '@capstan/api';
import {
  type Attempt,
  addEntry,
  entryFor,
  type Grant,
  isEntry,
  type PlacedPart,
  type PlacementRequest,
  type Waiting,
} from '@capstan/fleet';
import { both } from '../reconciling/both.ts';
import type { Order, Promised, Shelf } from '../stock/stockroom.ts';
import type { BookingWriter } from './booking-writer.ts';
import type { FleetCopy } from './fleet-copy.ts';
import { askedAmount, type PassQuota, placedAmount } from './quota.ts';
import type { Known, Tenants } from './tenants.ts';
import type { WorkspacePaths } from './workspaces.ts';

export interface DirectGrantsOptions {
  readonly fleet: Pick<FleetCopy, 'index' | 'node'>;
  readonly tenants: Pick<Tenants, 'onlyPlace'>;
  readonly paths: Pick<WorkspacePaths, 'learn' | 'pathOf'>;
  readonly writer: Pick<BookingWriter, 'write' | 'specOf'>;
  /** The limits as of the last pass. Undefined unless everything is decided: no order waits, and no pass is under way or due. */
  readonly quiet: () => PassQuota | undefined;
  readonly requestOf: (spec: Allocation['spec']) => PlacementRequest | undefined;
  /** Places an order by the rules of a pass, and books it in the index under its id. */
  readonly place: (waiting: Waiting) => Grant | undefined;
  readonly newAttempt: () => string;
  /** Names the attempt in the status of its allocation. */
  readonly confirm: (known: Known, attempt: Attempt, signal: AbortSignal) => Promise<Allocation>;
  readonly signal: () => AbortSignal;
  /** Asks for another pass. */
  readonly again: () => void;
  readonly now: () => number;
}

interface Promising {
  readonly path: string;
  readonly part: PlacedPart;
  isBooked: boolean;
}

/**
 * Gives free devices to an order that nobody else waits for, without a pass: the controller of units has them booked as soon as the Allocation exists, and
 * does not have to hear of it. A promise is in memory only: after a crash, the bookings say who has what. Without a promise, an order takes its turn in the queue.
 */
export class DirectGrants implements Shelf {
  readonly #options: DirectGrantsOptions;
  readonly #promises = new Map<string, Promising>();

  constructor(options: DirectGrantsOptions) {
    this.#options = options;
  }

  /** Whether an allocation is about to get its devices, so that a pass leaves it alone. */
  isPromised(allocation: Pick<AllocationReference, 'cluster' | 'namespace' | 'name'>): boolean {
    return this.#promises.size > 0 && this.#promises.has(keyOf(allocation));
  }

  /** Counts what was promised, and is in no booking yet. */
  count(quota: PassQuota): void {
    for (const [key, { path, part, isBooked }] of this.#promises) if (!isBooked) quota.count(key, path, this.#amountOf(part));
  }

  async promise(order: Order): Promise<Promised | undefined> {
    const { tenants, paths, quiet, signal, again, fleet } = this.#options;
    const place = tenants.onlyPlace;
    if (place === undefined || quiet() === undefined) return undefined;
    await paths.learn(order.cluster, place.context.client, signal());
    const path = paths.pathOf(order.cluster);
    const quota = quiet();
    const key = keyOf(order);
    if (quota === undefined || this.#promises.has(key) || (path === undefined && !quota.isEmpty)) return undefined;
    const part = this.#place(order, { key, path: path ?? '', quota });
    if (part === undefined) return undefined;
    const promising: Promising = { path: path ?? order.cluster, part, isBooked: false };
    this.#promises.set(key, promising);
    return {
      take: async (allocation, onBooked) => {
        const { name = '', namespace = '', uid = '' } = allocation.metadata;
        const reference = { cluster: order.cluster, namespace, name, uid: asAllocationId(uid), ...(path !== undefined && { path }) };
        const attempt = await this.#book(reference, part);
        promising.isBooked = true;
        fleet.index.free(key, part.node);
        return attempt && both(this.#options.confirm({ uid, allocation, place }, attempt, signal()), onBooked(part.node));
      },
      [Symbol.dispose]: () => {
        if (!promising.isBooked) fleet.index.free(key, part.node);
        this.#promises.delete(key);
        again();
      },
    };
  }

  /** Undefined if a limit forbids it or nothing is free: the next pass says why. */
  #place(
    { spec, cluster }: Order,
    { key, path, quota }: { readonly key: string; readonly path: string; readonly quota: PassQuota },
  ): PlacedPart | undefined {
    const { requestOf, place, now, fleet } = this.#options;
    const request = requestOf(spec);
    if (request === undefined || quota.admit(key, path, askedAmount(request)) !== undefined) return undefined;
    const [part] = place({ id: key, tenant: cluster, priority: spec.priority, since: now(), request })?.placement.parts ?? [];
    // The model and the memory may be known only now.
    if (part === undefined || quota.admit(key, path, this.#amountOf(part)) === undefined) return part;
    fleet.index.free(key, part.node);
    return undefined;
  }

  /** The compare-and-swap that decides. Undefined if somebody else was faster. */
  async #book(
    allocation: AllocationReference,
    { node, devices, cpu, memory, exclusive = false }: PlacedPart,
  ): Promise<Attempt | undefined> {
    const { fleet, writer, newAttempt, signal } = this.#options;
    const part = { node, devices, cpu, memory };
    const attempt = { allocation, name: newAttempt(), parts: [part], exclusive };
    const capacity = fleet.node(node);
    if (capacity === undefined) return undefined;
    const entry = entryFor(attempt, part);
    await writer.write(node, [{ node, change: (spec) => addEntry(spec, entry, { event: 'grant', capacity }) }], signal());
    const own = writer.specOf(node).entries.find((one) => isEntry(one, { uid: allocation.uid, attempt: attempt.name }));
    return own && { ...attempt, entries: new Map([[node, own]]) };
  }

  #amountOf(part: PlacedPart) {
    return placedAmount([part], (name) => this.#options.fleet.node(name));
  }
}

function keyOf({ cluster, namespace, name }: Pick<AllocationReference, 'cluster' | 'namespace' | 'name'>): string {
  return `${cluster}/${namespace}/${name}`;
}
