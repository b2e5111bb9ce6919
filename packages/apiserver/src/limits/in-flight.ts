import type { User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import { type StatusError, status } from '@capstan/machinery';
import { allowedInLine } from './scarce.ts';

export type RequestClass = 'readonly' | 'mutating';

export interface InFlightOptions {
  /** How many requests of each class run at once. */
  readonly readonly?: number;
  readonly mutating?: number;
  /** How many requests may wait, in total and in one line. Each keeps its buffered body in memory. */
  readonly maxWaiting?: number;
  readonly maxWaitingPerLine?: number;
  readonly maxWaitMilliseconds?: number;
  /** The limit on all running requests of both classes, which applies even to system:masters. */
  readonly absolute?: number;
  readonly now?: () => number;
}

export interface InFlightState {
  readonly running: Readonly<Record<RequestClass, number>>;
  readonly waiting: number;
  readonly rejected: number;
}

/** Requests that wait for a place, oldest first. */
interface Line {
  readonly name: string;
  readonly waiters: Waiter[];
  /** The index of the first waiter that may still be waiting. */
  head: number;
  /** How many waiters are left. */
  count: number;
}

interface Waiter {
  readonly line: Line;
  readonly deadline: number;
  settle: ((error: StatusError | undefined) => void) | undefined;
}

/** How often expired waiters are looked for; the timer runs only while requests wait. */
const sweepMilliseconds = 250;

const tooMany = (): StatusError => status.tooManyRequests('too many requests, please try again later', 1);

/**
 * Limits how many requests run at once. Further requests wait; when a place becomes free, the lines take turns, however long each is. The
 * last places are reserved for lines that hold few, so a tenant that holds many (with bodies that never arrive or webhooks that never
 * respond) blocks nobody else. The cost of a step depends only on the number of places, not on the number of waiters.
 */
export class InFlight {
  readonly #pools: Readonly<Record<RequestClass, Pool>>;
  readonly #maxWaiting: number;
  readonly #maxWaitingPerLine: number;
  readonly #maxWait: number;
  readonly #absolute: number;
  readonly #now: () => number;
  /** In order of their deadlines, because the maximum wait is the same for all. */
  #byDeadline: Waiter[] = [];
  #firstByDeadline = 0;
  #waiting = 0;
  #rejected = 0;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: InFlightOptions = {}) {
    this.#pools = { readonly: new Pool(options.readonly ?? 400), mutating: new Pool(options.mutating ?? 200) };
    this.#maxWaiting = options.maxWaiting ?? 10_000;
    this.#maxWaitingPerLine = options.maxWaitingPerLine ?? 5_000;
    this.#maxWait = options.maxWaitMilliseconds ?? 30_000;
    this.#absolute = options.absolute ?? 4_000;
    this.#now = options.now ?? Date.now;
  }

  /**
   * Takes a place: at once (returns undefined), or when the promise resolves. Throws or rejects with TooManyRequests if none becomes
   * available. Every caller that gets a place must call `leave`.
   */
  enter(line: string, user: User, kind: RequestClass): undefined | Promise<void> {
    const pool = this.#pools[kind];
    // No waiting request could have a free place (`leave` fills them), so a new request overtakes none.
    if (pool.hasPlaceFor(line) || (this.#running < this.#absolute && user.groups.includes(superuserGroup))) {
      pool.take(line);
      return undefined;
    }
    const allowed = allowedInLine({ taken: this.#waiting, all: this.#maxWaiting, most: this.#maxWaitingPerLine });
    if (this.#waiting >= this.#maxWaiting || pool.waitingOf(line) >= allowed) {
      this.#rejected++;
      throw tooMany();
    }
    return this.#wait(pool, line);
  }

  leave(line: string, kind: RequestClass): void {
    const pool = this.#pools[kind];
    pool.giveBack(line);
    while (pool.running < pool.capacity) {
      const waiter = pool.next();
      if (waiter === undefined) return;
      this.#waiting--;
      pool.take(waiter.line.name);
      waiter.settle!(undefined);
      waiter.settle = undefined;
    }
  }

  /** How many requests of both classes run at once. */
  get capacity(): number {
    return this.#pools.readonly.capacity + this.#pools.mutating.capacity;
  }

  get state(): InFlightState {
    const { readonly, mutating } = this.#pools;
    return { running: { readonly: readonly.running, mutating: mutating.running }, waiting: this.#waiting, rejected: this.#rejected };
  }

  get #running(): number {
    return this.#pools.readonly.running + this.#pools.mutating.running;
  }

  #wait(pool: Pool, line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error: StatusError | undefined): void => (error === undefined ? resolve() : reject(error));
      this.#byDeadline.push(pool.add(line, this.#now() + this.#maxWait, settle));
      this.#waiting++;
      this.#sweeper ??= setInterval(() => this.#sweep(), sweepMilliseconds).unref();
    });
  }

  #sweep(): void {
    const now = this.#now();
    for (; this.#firstByDeadline < this.#byDeadline.length; this.#firstByDeadline++) {
      const waiter = this.#byDeadline[this.#firstByDeadline]!;
      if (waiter.settle === undefined) continue;
      if (waiter.deadline > now) break;
      waiter.settle(tooMany());
      waiter.settle = undefined;
      waiter.line.count--;
      this.#waiting--;
      this.#rejected++;
    }
    this.#byDeadline = this.#byDeadline.slice(this.#firstByDeadline);
    this.#firstByDeadline = 0;
    if (this.#waiting > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}

/** The places of one class, and the lines that wait for them. */
class Pool {
  readonly capacity: number;
  running = 0;
  readonly #running = new Map<string, number>();
  readonly #lines = new Map<string, Line>();
  /** Lines in round-robin order. */
  #turns: Line[] = [];
  #firstTurn = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  hasPlaceFor(line: string): boolean {
    const { running, capacity } = this;
    if (running >= capacity) return false;
    return (this.#running.get(line) ?? 0) < allowedInLine({ taken: running, all: capacity, most: capacity });
  }

  take(line: string): void {
    this.running++;
    this.#running.set(line, (this.#running.get(line) ?? 0) + 1);
  }

  giveBack(line: string): void {
    this.running--;
    const left = this.#running.get(line)! - 1;
    if (left === 0) this.#running.delete(line);
    else this.#running.set(line, left);
  }

  waitingOf(name: string): number {
    return this.#lines.get(name)?.count ?? 0;
  }

  add(name: string, deadline: number, settle: Waiter['settle']): Waiter {
    let line = this.#lines.get(name);
    if (line === undefined) {
      line = { name, waiters: [], head: 0, count: 0 };
      this.#lines.set(name, line);
      this.#turns.push(line);
    }
    const waiter: Waiter = { line, deadline, settle };
    line.waiters.push(waiter);
    line.count++;
    return waiter;
  }

  /** The oldest waiter of the next line that may have another place. */
  next(): Waiter | undefined {
    for (let left = this.#turns.length - this.#firstTurn; left > 0; left--) {
      const line = this.#turns[this.#firstTurn++]!;
      const waiter = line.count > 0 && this.hasPlaceFor(line.name) ? oldest(line) : undefined;
      if (line.count > 0) this.#turns.push(line);
      else this.#lines.delete(line.name);
      if (this.#firstTurn > 1024 && this.#firstTurn * 2 > this.#turns.length) {
        this.#turns = this.#turns.slice(this.#firstTurn);
        this.#firstTurn = 0;
      }
      if (waiter !== undefined) return waiter;
    }
    return undefined;
  }
}

function oldest(line: Line): Waiter | undefined {
  while (line.head < line.waiters.length) {
    const waiter = line.waiters[line.head++]!;
    if (line.head > 1024 && line.head * 2 > line.waiters.length) {
      line.waiters.splice(0, line.head);
      line.head = 0;
    }
    if (waiter.settle === undefined) continue;
    line.count--;
    return waiter;
  }
  return undefined;
}
