import type { User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import { type StatusError, status } from '@capstan/machinery';
import type { Line } from './line.ts';
import { forget, Pool, type PoolOptions, type Waiter } from './pool.ts';
import { allowedInLine } from './scarce.ts';

export type RequestClass = 'readonly' | 'mutating';

export interface PlacesOptions {
  readonly pools: Readonly<Record<RequestClass, PoolOptions>>;
  /** How many requests may wait, in total and for one tenant; one user of a tenant may have half of these. */
  readonly maxWaiting: number;
  readonly maxWaitingPerLine: number;
  readonly maxWaitMilliseconds: number;
  /** The limit on all running requests of both classes, which applies even to system:masters. */
  readonly absolute: number;
  readonly now: () => number;
}

/** How often expired waiters are looked for; the timer runs only while requests wait. */
const sweepMilliseconds = 250;

const tooMany = (): StatusError => status.tooManyRequests('too many requests, please try again later', 1);

/**
 * Limits how many requests of one level run at once. Further requests wait; when a place becomes free, the tenants take turns, however many
 * requests and users each has, and so do the users of a tenant. The last places are reserved for tenants that hold few, so a tenant that
 * holds many (with bodies that never arrive or webhooks that never respond) blocks nobody else. The cost of a step depends only on the
 * number of places, not on the number of waiters.
 */
export class Places {
  readonly #options: PlacesOptions;
  readonly #pools: Readonly<Record<RequestClass, Pool>>;
  /** In order of their deadlines, because the maximum wait is the same for all. */
  #byDeadline: Waiter[] = [];
  #firstByDeadline = 0;
  #waiting = 0;
  #rejected = 0;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: PlacesOptions) {
    this.#options = options;
    this.#pools = { readonly: new Pool(options.pools.readonly), mutating: new Pool(options.pools.mutating) };
  }

  get waiting(): number {
    return this.#waiting;
  }

  get rejected(): number {
    return this.#rejected;
  }

  running(kind: RequestClass): number {
    return this.#pools[kind].running;
  }

  enter(line: Line, user: User, kind: RequestClass): undefined | Promise<void> {
    const pool = this.#pools[kind];
    // No waiting request could have a free place (`leave` fills them), so a new request overtakes none.
    if (pool.hasPlaceFor(line) || (this.#isBelowAbsolute() && user.groups.includes(superuserGroup))) {
      pool.take(line);
      return undefined;
    }
    if (!this.#mayWait(pool, line)) {
      this.#rejected++;
      throw tooMany();
    }
    return this.#wait(pool, line);
  }

  leave(line: Line, kind: RequestClass): void {
    const pool = this.#pools[kind];
    pool.giveBack(line);
    if (this.#waiting === 0) return;
    while (pool.running < pool.capacity) {
      const waiter = pool.next();
      if (waiter === undefined) return;
      this.#waiting--;
      pool.take(waiter.line);
      waiter.settle!(undefined);
      waiter.settle = undefined;
    }
  }

  #isBelowAbsolute(): boolean {
    return this.running('readonly') + this.running('mutating') < this.#options.absolute;
  }

  #mayWait(pool: Pool, line: Line): boolean {
    const { maxWaiting, maxWaitingPerLine } = this.#options;
    if (this.#waiting >= maxWaiting) return false;
    const allowed = allowedInLine({ taken: this.#waiting, all: maxWaiting, most: maxWaitingPerLine });
    const { tenant, user } = pool.waitingOf(line);
    return tenant < allowed && (line.user === line.tenant || user < Math.max(1, Math.floor(allowed / 2)));
  }

  #wait(pool: Pool, line: Line): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error: StatusError | undefined): void => (error === undefined ? resolve() : reject(error));
      this.#byDeadline.push(pool.add(line, this.#options.now() + this.#options.maxWaitMilliseconds, settle));
      this.#waiting++;
      this.#sweeper ??= setInterval(() => this.#sweep(), sweepMilliseconds).unref();
    });
  }

  #sweep(): void {
    const now = this.#options.now();
    for (; this.#firstByDeadline < this.#byDeadline.length; this.#firstByDeadline++) {
      const waiter = this.#byDeadline[this.#firstByDeadline]!;
      if (waiter.settle === undefined) continue;
      if (waiter.deadline > now) break;
      waiter.settle(tooMany());
      waiter.settle = undefined;
      forget(waiter);
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
