import { status } from '@capstan/machinery';
import { ByUser } from './by-user.ts';
import type { Line } from './line.ts';
import type { ProcessorTime } from './processor-time.ts';
import { allowedInLine } from './scarce.ts';

export interface WorkQueueOptions {
  readonly time: ProcessorTime;
  /** For how long to work for those that wait before requests that do not are served, in milliseconds, if users share the event loop or not. */
  readonly turn?: { readonly shared: number; readonly single: number };
  /** How many may wait, in total and of one tenant. */
  readonly maxWaiting?: number;
  readonly maxWaitingPerTenant?: number;
  readonly now?: () => number;
}

/** In milliseconds. */
const usualTurn = { shared: 0.5, single: 3 };

/** How many tenants are compared to find the one that has used the least. */
const mostCompared = 64;

/** How many connections that wait are read in one turn of the loop while users share it: some 50 µs each, before their requests wait. */
const readInOneTurn = 4;

/** Work of a user, who may be a whole tenant. */
interface Piece {
  readonly user: string;
  readonly run: () => void;
}

interface Waiting {
  readonly tenant: string;
  readonly ready: ByUser<Piece>;
  /** Wait until the large request before them is done. */
  readonly large: ByUser<() => void>;
  isBusy: boolean;
  /** Connections whose next request is not read yet. */
  readonly unread: ByUser<() => void>;
}

/** Who works. */
type Worker = Pick<Line, 'tenant' | 'user'>;

/**
 * Lets work wait that takes long on the event loop. In each turn of the loop, it works for a few milliseconds, for the tenant that has used the
 * least processor time lately; then requests are served that need not wait. A tenant that asks for a lot waits for itself, and its users take turns.
 */
export class WorkQueue {
  readonly #time: ProcessorTime;
  readonly #turn: { readonly shared: number; readonly single: number };
  readonly #maxWaiting: number;
  readonly #maxWaitingPerTenant: number;
  readonly #now: () => number;
  readonly #tenants = new Map<string, Waiting>();
  #waiting = 0;
  #unread = 0;
  #isWorking = false;
  #restTimer: NodeJS.Timeout | undefined;

  constructor({
    time,
    turn = usualTurn,
    maxWaiting = 10_000,
    maxWaitingPerTenant = 5_000,
    now = () => performance.now(),
  }: WorkQueueOptions) {
    this.#time = time;
    this.#turn = turn;
    this.#maxWaiting = maxWaiting;
    this.#maxWaitingPerTenant = maxWaitingPerTenant;
    this.#now = now;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when a piece of work may run, immediately and without waiting for anything. */
  turn({ tenant, user }: Worker): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#of(tenant).ready.push(user, { user, run: resolve });
    this.#waiting++;
    this.#start();
    return promise;
  }

  /** Calls back when the server may read more from a connection of the tenant. Its request then waits for a turn like any other. */
  read({ tenant, user }: Worker, start: () => void): void {
    this.#of(tenant).unread.push(user, start);
    this.#unread++;
    this.#start();
  }

  /** How many connections wait to be read. */
  get unread(): number {
    return this.#unread;
  }

  /** Whether one more may wait. */
  hasRoomFor({ tenant }: Pick<Line, 'tenant'>): boolean {
    const waiting = this.#tenants.get(tenant);
    const own = waiting === undefined ? 0 : waiting.ready.size + waiting.large.size;
    if (this.#waiting >= this.#maxWaiting) return false;
    return own < allowedInLine({ taken: this.#waiting, all: this.#maxWaiting, most: this.#maxWaitingPerTenant });
  }

  /** Resolves when no other large request of the tenant runs, and it is its turn. Each needs a `leave`. */
  async enter(line: Line): Promise<void> {
    if (!this.hasRoomFor(line)) throw status.tooManyRequests('too many requests, please try again later', 1);
    const waiting = this.#of(line.tenant);
    if (waiting.isBusy) {
      this.#waiting++;
      try {
        await new Promise<void>((resolve) => waiting.large.push(line.user, resolve));
      } finally {
        this.#waiting--;
      }
    }
    waiting.isBusy = true;
    await this.turn(line);
  }

  leave({ tenant }: Line): void {
    const waiting = this.#of(tenant);
    const next = waiting.large.shift();
    if (next !== undefined) return next();
    waiting.isBusy = false;
    this.#forgetIfIdle(waiting);
  }

  #start(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    setImmediate(() => void this.#work());
  }

  async #work(): Promise<void> {
    // The event that is awaited below happens when all microtasks are done, but only if this is one.
    await Promise.resolve();
    let until = this.#endOfTurn();
    for (let next = this.#next(); next !== undefined || this.#unread > 0; next = this.#next()) {
      if (next !== undefined) {
        this.#time.begin(next);
        next.run();
        // The work that follows from it happens in microtasks.
        await new Promise<void>((resolve) => process.nextTick(resolve));
        this.#time.endPiece();
        if (this.#now() < until) continue;
      }
      this.#readSome();
      await new Promise<void>((resolve) => setImmediate(resolve));
      until = this.#endOfTurn();
    }
    this.#isWorking = false;
    if (this.#waiting > 0) this.#goOnAfterRest();
  }

  /** Goes on when the first of those that rest may. */
  #goOnAfterRest(): void {
    clearTimeout(this.#restTimer);
    let soonest = Number.POSITIVE_INFINITY;
    for (const { tenant, ready } of this.#tenants.values()) if (ready.size > 0) soonest = Math.min(soonest, this.#time.restOf(tenant));
    if (soonest < Number.POSITIVE_INFINITY) this.#restTimer = setTimeout(() => this.#start(), soonest);
  }

  /** Lets some connections be read in the next turn of the loop. One of them may be of a tenant whose requests wait already: they might wait for ever. */
  #readSome(): void {
    const most = this.#time.isShared ? readInOneTurn : Number.POSITIVE_INFINITY;
    for (let read = 0; read < most && this.#unread > 0; read++) {
      const tenant =
        this.#least(({ unread, ready }) => unread.size > 0 && ready.size < most) ??
        (read === 0 ? this.#least(({ unread }) => unread.size > 0) : undefined);
      if (tenant === undefined) return;
      const start = tenant.unread.shift()!;
      this.#unread--;
      this.#moveBack(tenant);
      start();
    }
  }

  #endOfTurn(): number {
    const { shared, single } = this.#turn;
    return this.#now() + (this.#time.isShared ? shared : single);
  }

  #next(): (Piece & Worker) | undefined {
    const least = this.#least(({ tenant, ready }) => ready.size > 0 && this.#time.restOf(tenant) === 0);
    if (least === undefined) return undefined;
    const { user, run } = least.ready.shift()!;
    this.#waiting--;
    this.#moveBack(least);
    return { tenant: least.tenant, user, run };
  }

  /** The tenant that has used the least, of some that have something to do. */
  #least(hasSome: (waiting: Waiting) => boolean): Waiting | undefined {
    let least: Waiting | undefined;
    let leastUsed = Number.POSITIVE_INFINITY;
    let left = mostCompared;
    for (const waiting of this.#tenants.values()) {
      if (!hasSome(waiting)) continue;
      if (left-- === 0) break;
      const used = this.#time.used(waiting.tenant);
      if (used >= leastUsed) continue;
      leastUsed = used;
      least = waiting;
    }
    return least;
  }

  /** It goes to the end, so that all are compared in the end. */
  #moveBack(waiting: Waiting): void {
    this.#tenants.delete(waiting.tenant);
    this.#tenants.set(waiting.tenant, waiting);
    this.#forgetIfIdle(waiting);
  }

  #of(tenant: string): Waiting {
    let waiting = this.#tenants.get(tenant);
    if (waiting === undefined) {
      waiting = { tenant, ready: new ByUser(), large: new ByUser(), isBusy: false, unread: new ByUser() };
      this.#tenants.set(tenant, waiting);
    }
    return waiting;
  }

  #forgetIfIdle({ tenant, ready, large, isBusy, unread }: Waiting): void {
    if (!isBusy && large.size + ready.size + unread.size === 0) this.#tenants.delete(tenant);
  }
}
