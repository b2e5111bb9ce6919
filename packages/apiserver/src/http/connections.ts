import type { Socket } from 'node:net';
import { Connection, type ConnectionTimeouts, type Failure } from './connection.ts';
import type { Sockets } from './sockets.ts';
import { isLoopback, sourceOf } from './source.ts';

export interface ConnectionLimits {
  readonly overall: number;
  /** From one address or one /64 network. */
  readonly perAddress: number;
  /** From the machine itself: all clients behind a local proxy or tunnel come from there. */
  readonly fromLoopback: number;
  /** Bytes that clients have not read, in total and of one tenant. Connections with the most are closed beyond that. */
  readonly unsent?: number;
  readonly unsentPerTenant?: number;
  /** Counts those that the server opens for streams, too. */
  readonly sockets?: Sockets;
}

export interface ConnectionsOptions {
  readonly limits: ConnectionLimits;
  readonly timeouts: ConnectionTimeouts;
  readonly now?: () => number;
}

/** Why the server ended a connection, including the failures of its client. */
type Ending = Failure | 'refused' | 'displaced';

/** An unauthenticated connection older than this, in milliseconds, has had time for a handshake and a first request. */
const grace = 500;
/** The part of all connections that one tenant may have. */
const largestShare = 0.75;
const none = new Set<never>();
/** How many unauthenticated connections are checked to find an idle one. */
const mostLookedAt = 16;

/** Connections from the same source. */
interface Source {
  count: number;
  readonly strangers: Set<Connection>;
}

/**
 * All connections of a listener. One periodic check of each replaces all timers, so a request costs the same with or without
 * timeouts. When there are too many, unauthenticated idle connections make room; if there are none, the newest connection is
 * closed.
 */
export class Connections implements Disposable {
  readonly #options: ConnectionsOptions;
  readonly #now: () => number;
  readonly #open = new Set<Connection>();
  /** Connections that nobody has authenticated on, oldest first. */
  readonly #strangers = new Set<Connection>();
  readonly #sources = new Map<string, Source>();
  /** By owner, oldest first. */
  readonly #owners = new Map<string, Set<Connection>>();
  readonly #ended = new Map<Ending, number>();
  readonly #timer: NodeJS.Timeout;
  #clock = 0;
  #lookedAt: number;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#lookedAt = this.#now();
    this.#timer = setInterval(() => this.sweep(), options.timeouts.sweep).unref();
  }

  get count(): number {
    return this.#open.size;
  }

  /** Connections ended by the server, by reason. */
  get ended(): ReadonlyMap<string, number> {
    return this.#ended;
  }

  /**
   * The clock for timeouts. It stops while the process is suspended, so that clients are not charged for data that the server did
   * not read.
   */
  get clock(): number {
    return this.#clock;
  }

  /** Accepts a connection, or closes it. */
  admit(raw: Socket): Connection | undefined {
    const { limits } = this.#options;
    const name = sourceOf(raw.remoteAddress ?? '');
    const { count, strangers } = this.#sources.get(name) ?? { count: 0, strangers: none };
    const limit = isLoopback(name) ? limits.fromLoopback : limits.perAddress;
    const isRoom =
      (count < limit || this.#displace(strangers)) &&
      (this.#open.size < limits.overall || this.#displace(this.#strangers)) &&
      this.makeRoom();
    if (!isRoom) {
      this.#countEnded('refused');
      raw.resetAndDestroy();
      return undefined;
    }
    return this.#add(raw, name);
  }

  /** Makes room for another socket of the process. */
  makeRoom(): boolean {
    const { sockets } = this.#options.limits;
    if (sockets === undefined || this.#open.size + sockets.toNodes < sockets.most) return true;
    sockets.refresh();
    return this.#open.size + sockets.toNodes < sockets.most || this.#displace(this.#strangers);
  }

  /** Closes a connection that could not be served. */
  refuse(connection: Connection): void {
    this.#countEnded('refused');
    connection.destroy();
  }

  /** Checks every connection. No failure of a check may end the process. */
  sweep(): void {
    const now = this.#now();
    this.#clock += Math.min(now - this.#lookedAt, 2 * this.#options.timeouts.sweep);
    this.#lookedAt = now;
    for (const connection of this.#open) this.#look(connection);
    this.#limitUnsent();
  }

  #limitUnsent(): void {
    const { unsent = Number.POSITIVE_INFINITY, unsentPerTenant = unsent } = this.#options.limits;
    let total = 0;
    const tenants = new Map<string, number>();
    for (const { unsent: own, owner } of this.#open) {
      if (own === 0) continue;
      total += own;
      tenants.set(owner, (tenants.get(owner) ?? 0) + own);
    }
    for (const [owner, own] of tenants) if (own > unsentPerTenant) total -= this.#cutUnread(own - unsentPerTenant, owner);
    if (total > unsent) this.#cutUnread(total - unsent);
  }

  /** Closes the connections with the most unread bytes until there are that many fewer. */
  #cutUnread(excess: number, owner?: string): number {
    const candidates = [...this.#open].filter((one) => one.unsent > 0 && (owner === undefined || one.owner === owner));
    let cut = 0;
    for (const connection of candidates.sort((one, other) => other.unsent - one.unsent)) {
      if (cut >= excess) break;
      cut += connection.unsent;
      connection.unsent = 0;
      this.#countEnded('unread');
      connection.destroy();
    }
    return cut;
  }

  /** Ends connections without open requests, and tells the others that no more will be accepted. */
  finishAll(): void {
    for (const connection of this.#open) connection.finish(this.#clock);
  }

  destroyAll(): void {
    for (const connection of this.#open) connection.destroy();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(connection: Connection): void {
    try {
      const failure = connection.look(this.#clock);
      if (failure === undefined) return;
      this.#countEnded(failure);
      if (failure === 'idle') connection.close(this.#clock);
      else connection.destroy();
    } catch {
      connection.destroy();
    }
  }

  #add(raw: Socket, name: string): Connection {
    let source = this.#sources.get(name);
    if (source === undefined) this.#sources.set(name, (source = { count: 0, strangers: new Set() }));
    const { strangers } = source;
    const onKnown = (known: Connection): void => {
      strangers.delete(known);
      this.#strangers.delete(known);
    };
    const { timeouts } = this.#options;
    const connection = new Connection(raw, name, { began: this.#now(), clock: this.#clock, timeouts, onKnown, onOwner: this.#onOwner });
    source.count++;
    strangers.add(connection);
    this.#strangers.add(connection);
    this.#open.add(connection);
    raw.on('close', () => this.#remove(connection));
    return connection;
  }

  /**
   * Makes room by ending the oldest idle one of some unauthenticated connections. One that has only just arrived may be about to
   * authenticate.
   */
  #displace(strangers: Set<Connection>): boolean {
    const now = this.#now();
    let left = mostLookedAt;
    for (const stranger of strangers) {
      if (left-- === 0 || now - stranger.began < grace) return false;
      if (stranger.isIdle) {
        this.#countEnded('displaced');
        this.#remove(stranger);
        stranger.destroy();
        return true;
      }
      // Moves it to the end, so that the next search starts with others.
      strangers.delete(stranger);
      strangers.add(stranger);
    }
    return false;
  }

  /** A tenant that has too many connections loses the oldest idle one of them, or else the one that it has just opened. */
  readonly #onOwner = (connection: Connection, owner: string, most: number): void => {
    this.#disown(connection);
    let own = this.#owners.get(owner);
    if (own === undefined) this.#owners.set(owner, (own = new Set()));
    if (own.size >= Math.min(most, Math.ceil(this.#options.limits.overall * largestShare))) {
      this.#countEnded('displaced');
      const victim = idleOf(own) ?? connection;
      if (victim !== connection) this.#remove(victim);
      victim.destroy();
      if (victim === connection) return;
    }
    own.add(connection);
    // Its set may have been removed with its last member.
    this.#owners.set(owner, own);
  };

  #disown(connection: Connection): void {
    const own = this.#owners.get(connection.owner);
    if (own?.delete(connection) === true && own.size === 0) this.#owners.delete(connection.owner);
  }

  #remove(connection: Connection): void {
    if (!this.#open.delete(connection)) return;
    this.#disown(connection);
    this.#strangers.delete(connection);
    const source = this.#sources.get(connection.source)!;
    source.strangers.delete(connection);
    if (--source.count === 0) this.#sources.delete(connection.source);
  }

  #countEnded(why: Ending): void {
    this.#ended.set(why, (this.#ended.get(why) ?? 0) + 1);
  }
}

function idleOf(connections: ReadonlySet<Connection>): Connection | undefined {
  let left = mostLookedAt;
  for (const connection of connections) {
    if (left-- === 0) return undefined;
    if (connection.isIdle) return connection;
  }
  return undefined;
}
