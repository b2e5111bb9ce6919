import type { Line } from './line.ts';

/** In milliseconds: used time counts for half after this long. */
const halfLife = 5_000;
/** Tenants that have used less than this, in milliseconds, are like new ones. */
const forgettable = 0.5;
/** How many tenants are remembered before those that have used little are forgotten. */
const manyTenants = 1_000;

/** In milliseconds: short enough that nobody notices a wait for its end. */
export const timeWindow = 10;
const settled = Promise.resolve();

/** In milliseconds: how long it takes to notice that users share the event loop… */
const sharingPeriod = 500;
/** …which is so if it changed hands at least this often in the last such period. */
const manyChanges = 10;
/** Long pieces leave others few turns, so this many in the last two periods show that there are others. */
const someChanges = 2;

/**
 * In milliseconds: a piece of work that takes longer, an expression for example, is long. It cannot be interrupted, and a request of somebody else waits several times before it is answered: it
 * should not find another such piece each time. So its tenant rests for as long as the piece took, up to `longestRest`, if others use the event loop too.
 */
const longPiece = { from: 15, longestRest: 100, rememberedFor: 5_000 };

interface Usage {
  /** In milliseconds, as of `at`. */
  used: number;
  at: number;
  /** When its last long piece ended. */
  longAt: number;
  restsUntil: number;
  /** In the window that began then, and in the one before it. */
  windowAt: number;
  inWindow: number;
  before: number;
  /** The use of its whole group, if it belongs to one. */
  group: Usage | undefined;
}

export interface ProcessorTimeOptions {
  readonly now?: () => number;
  /** Calls back when the current work is done, and everything that follows from it without waiting. */
  readonly afterWork?: (callback: () => void) => void;
}

/**
 * How much time on the event loop each tenant has used lately. Requests run in pieces, between which they wait; a piece is charged from `begin`
 * until nothing more follows from it without waiting, or until another one begins.
 */
export class ProcessorTime {
  readonly #now: () => number;
  readonly #afterWork: (callback: () => void) => void;
  readonly #tenants = new Map<string, Usage>();
  #current: Usage | undefined;
  #since = 0;
  #isEndDue = false;
  /** Who worked last. */
  #lastUser = '';
  #lastTenant: Usage | undefined;
  /** How often the event loop went from one user, and from one tenant, to another in this period… */
  #changes = { users: 0, tenants: 0 };
  /** …and in the one before. */
  #changesBefore = { users: 0, tenants: 0 };
  #periodAt = 0;

  constructor(options: ProcessorTimeOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#afterWork = options.afterWork ?? ((callback) => void settled.then(() => process.nextTick(callback)));
  }

  /** From now on, somebody else works, for this tenant. The time counts for its group too, from the first call that names it. */
  begin({ tenant, user, group }: Pick<Line, 'tenant' | 'user' | 'group'>): void {
    const now = this.#now();
    this.#endPiece(now);
    this.#current = this.#usageOf(tenant, now);
    if (group !== undefined) this.#current.group = this.#usageOf(group, now);
    this.#since = now;
    if (user !== this.#lastUser) {
      this.#lastUser = user;
      this.#changes.users++;
    }
    if (this.#current !== this.#lastTenant) {
      this.#lastTenant = this.#current;
      this.#changes.tenants++;
    }
    if (now - this.#periodAt >= sharingPeriod) this.#endPeriod(now);
    if (!this.#isEndDue) {
      this.#isEndDue = true;
      this.#afterWork(this.#end);
    }
  }

  /** Nothing more follows from the current piece without waiting. */
  endPiece(): void {
    this.#endPiece(this.#now());
  }

  /** In milliseconds: lately, where earlier use counts less. */
  used(tenant: string): number {
    const usage = this.#tenants.get(tenant);
    return usage === undefined ? 0 : usage.used * 2 ** ((usage.at - this.#now()) / halfLife);
  }

  /** In milliseconds: in the last `timeWindow`, without the piece that is running. */
  usedInWindow(tenant: string): number {
    const usage = this.#tenants.get(tenant);
    // Most requests come from tenants that have hardly used anything: for them, no clock is read.
    return usage === undefined || usage.inWindow < 1 || this.#now() - usage.windowAt >= timeWindow ? 0 : usage.inWindow;
  }

  /** The same, where the window ends now: one that has just begun forgets nobody. */
  usedLately(tenant: string): number {
    const usage = this.#tenants.get(tenant);
    if (usage === undefined) return 0;
    const age = (this.#now() - usage.windowAt) / timeWindow;
    if (age >= 2) return 0;
    return age >= 1 ? usage.inWindow * (2 - age) : usage.inWindow + usage.before * (1 - age);
  }

  /** Whether several users use the event loop these days. If not, longer turns delay nobody, and cost less. */
  get isShared(): boolean {
    return this.#changesBefore.users >= manyChanges || this.#changes.users >= manyChanges;
  }

  /** In milliseconds: for how long the tenant's work waits, because it has had long pieces. */
  restOf(tenant: string): number {
    const until = this.#tenants.get(tenant)?.restsUntil ?? 0;
    return until === 0 ? 0 : Math.max(0, until - this.#now());
  }

  #endPeriod(now: number): void {
    this.#changesBefore = now - this.#periodAt < 2 * sharingPeriod ? this.#changes : { users: 0, tenants: 0 };
    this.#changes = { users: 0, tenants: 0 };
    this.#periodAt = now;
  }

  get tenants(): number {
    return this.#tenants.size;
  }

  #end = (): void => {
    this.#isEndDue = false;
    this.endPiece();
  };

  #endPiece(now: number): void {
    const usage = this.#current;
    if (usage === undefined) return;
    this.#current = undefined;
    this.#charge(usage, now);
    const spent = now - this.#since;
    if (spent <= longPiece.from) return;
    // The first one may be a garbage collection, which anybody meets.
    const isFirst = now - usage.longAt > longPiece.rememberedFor;
    usage.longAt = now;
    if (!isFirst && this.#changes.tenants + this.#changesBefore.tenants >= someChanges)
      usage.restsUntil = now + Math.min(spent, longPiece.longestRest);
  }

  #charge(usage: Usage, now: number): void {
    const spent = now - this.#since;
    // A power costs more than the rest, and little changes within a window.
    if (now - usage.at >= timeWindow) {
      usage.used *= 2 ** ((usage.at - now) / halfLife);
      usage.at = now;
    }
    usage.used += spent;
    if (now - usage.windowAt >= timeWindow) {
      usage.before = now - usage.windowAt < 2 * timeWindow ? usage.inWindow : 0;
      usage.windowAt = now;
      usage.inWindow = 0;
    }
    usage.inWindow += spent;
    if (usage.group !== undefined) this.#charge(usage.group, now);
  }

  #usageOf(tenant: string, now: number): Usage {
    let usage = this.#tenants.get(tenant);
    if (usage === undefined) {
      if (this.#tenants.size >= manyTenants) this.#forget(now);
      this.#tenants.set(
        tenant,
        (usage = {
          used: 0,
          at: now,
          longAt: Number.NEGATIVE_INFINITY,
          restsUntil: 0,
          windowAt: now,
          inWindow: 0,
          before: 0,
          group: undefined,
        }),
      );
    }
    return usage;
  }

  #forget(now: number): void {
    for (const [name, { used, at }] of this.#tenants) if (used * 2 ** ((at - now) / halfLife) < forgettable) this.#tenants.delete(name);
    // All of them are busy: start over, rather than search again for each new one.
    if (this.#tenants.size >= manyTenants) this.#tenants.clear();
  }
}
