import { status } from '@capstan/machinery';
import type { ByteAccount, ClientAccount, Holdable } from '../http/exchange.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { Line } from './line.ts';
import { type ProcessorTime, timeWindow } from './processor-time.ts';
import type { WorkQueue } from './work-queue.ts';

export interface ClientsOptions {
  readonly time: ProcessorTime;
  readonly work: WorkQueue;
  /** Bytes of responses that clients have not read. */
  readonly unsent: ByteBudget;
  /** How many connections one tenant, and one agent, may have: three quarters of all, and 64, by default. */
  readonly connections?: { readonly people?: number; readonly agents?: number };
  /** Requests with longer bodies are large: those of a tenant run one after another. */
  readonly largeBody?: number;
}

/** How much of each window of processor time a tenant gets before its requests wait, in milliseconds, if users share the event loop or not. */
const perWindow = { shared: timeWindow * 0.1, single: timeWindow * 0.3 };
/** The same for a group of tenants. */
const perWindowOfGroup = timeWindow * 0.3;
const usualConnections = { people: Number.POSITIVE_INFINITY, agents: 64 };

/** The share of one user in the limits of a tenant. */
export interface Client extends ClientAccount {
  readonly line: Line;
}

/** Divides the time of the event loop, and the memory for responses, among tenants. */
export class Clients {
  readonly #options: ClientsOptions;
  readonly #largeBody: number;
  readonly #known = new WeakMap<Line, Client>();

  constructor(options: ClientsOptions) {
    this.#options = options;
    this.#largeBody = options.largeBody ?? 128 << 10;
  }

  of(line: Line): Client {
    let client = this.#known.get(line);
    if (client === undefined) {
      const { unsent, work } = this.#options;
      const account: ByteAccount = { take: (bytes) => unsent.take(line, bytes), give: (bytes) => unsent.give(line, bytes) };
      const mostConnections = this.#options.connections?.[line.level] ?? usualConnections[line.level];
      const alone = async <T>(act: () => Promise<T>): Promise<T> => {
        await work.enter(line);
        try {
          return await act();
        } finally {
          work.leave(line);
        }
      };
      const own: Client = {
        line,
        tenant: line.tenant,
        user: line.user,
        mostConnections,
        unsent: account,
        start: () => this.start(own),
        goOn: () => this.#goOn(line),
        beforeReading: (connection) => this.#beforeReading(line, connection),
        turn: () => work.turn(line),
        isHeldBack: () => this.#isHeldBack(line),
        alone,
      };
      client = own;
      this.#known.set(line, client);
    }
    return client;
  }

  /** Resolves when a request may run; undefined if it may at once. Its time is charged from then on. */
  start({ line }: Client): undefined | Promise<void> {
    const { time, work } = this.#options;
    if (!this.#isOverShare(line.tenant, line.group)) {
      time.begin(line);
      return undefined;
    }
    if (!work.hasRoomFor(line)) throw status.tooManyRequests('too many requests, please try again later', 1);
    return work.turn(line);
  }

  /**
   * The same before a request is parsed and authenticated, if its connection's last one was alike: floods must not cost others anything while they wait.
   * Without room to wait, `start` decides.
   */
  startEarly(request: { readonly owner: string; readonly lastUser: string; readonly isLikeLast: boolean }): undefined | Promise<void> {
    const { work } = this.#options;
    const { owner: tenant, lastUser: user } = request;
    if (tenant === '' || !this.#isOverShare(tenant)) return undefined;
    return request.isLikeLast && work.hasRoomFor({ tenant }) ? work.turn({ tenant, user }) : undefined;
  }

  /** While one user has the event loop for itself, its requests go on at once: waiting costs more than it is worth. */
  #goOn(line: Line): undefined | Promise<void> {
    const { time, work } = this.#options;
    if (!time.isShared && time.restOf(line.tenant) === 0) return undefined;
    if (this.#isOverShare(line.tenant, line.group)) return work.turn(line);
    time.begin(line);
    return undefined;
  }

  #beforeReading(line: Line, connection: Holdable): void {
    if (this.#isHeldBack(line) && connection.hold()) this.#options.work.read(line, () => connection.release());
  }

  #isHeldBack({ tenant, group }: Line): boolean {
    return this.#options.time.isShared && this.#isOverShare(tenant, group);
  }

  #isOverShare(tenant: string, group?: string): boolean {
    const { time } = this.#options;
    if (time.restOf(tenant) > 0) return true;
    if (!time.isShared)
      return time.usedInWindow(tenant) >= perWindow.single || (group !== undefined && time.usedInWindow(group) >= perWindowOfGroup);
    return time.usedLately(tenant) >= perWindow.shared || (group !== undefined && time.usedLately(group) >= perWindowOfGroup);
  }

  /** Charges a request that has had its turn. */
  charge({ line }: Client): void {
    this.#options.time.begin(line);
  }

  isLarge(bytes: number): boolean {
    return bytes > this.#largeBody;
  }

  /** Like `start`, for a large request. It needs an `endLarge`. */
  startLarge({ line }: Client): Promise<void> {
    return this.#options.work.enter(line);
  }

  endLarge({ line }: Client): void {
    this.#options.work.leave(line);
  }
}
