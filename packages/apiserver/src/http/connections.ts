import type { Socket } from 'node:net';
import { Connection, type ConnectionTimeouts, type Failure } from './connection.ts';
import { isLoopback, sourceOf } from './source.ts';

export interface ConnectionLimits {
  readonly overall: number;
  /** From one address, or one /64 network. */
  readonly perAddress: number;
  /** From the machine itself: behind a proxy or a tunnel on it, everybody comes from there. */
  readonly fromLoopback: number;
}

export interface ConnectionsOptions {
  readonly limits: ConnectionLimits;
  readonly timeouts: ConnectionTimeouts;
  readonly now?: () => number;
}

/** Why connections were ended by the server, beside the failures of their clients. */
type Ending = Failure | 'refused' | 'displaced';

/** A stranger that came this long ago, in milliseconds, has had the time for a handshake and to say who it is. */
const grace = 500;
const none = new Set<never>();
/** So many strangers are looked at to find one that is idle. */
const mostLookedAt = 16;

/** Connections that come from the same place. */
interface Source {
  count: number;
  readonly strangers: Set<Connection>;
}

/**
 * All connections of a listener. One look at each, once in a while, stands for all timers: what a request costs does not depend on them. When there are too
 * many, those that never said who they are and ask for nothing make room; where none can, the newest is closed.
 */
export class Connections implements Disposable {
  readonly #options: ConnectionsOptions;
  readonly #now: () => number;
  readonly #open = new Set<Connection>();
  /** Nobody has said who they are on these, the oldest first. */
  readonly #strangers = new Set<Connection>();
  readonly #sources = new Map<string, Source>();
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

  /** Connections that the server ended, by reason. */
  get ended(): ReadonlyMap<string, number> {
    return this.#ended;
  }

  /** Time by which clients are waited for. It stands still while the process does, so that nobody pays for what the server did not read. */
  get clock(): number {
    return this.#clock;
  }

  /** Takes a connection in, or closes it. */
  admit(raw: Socket): Connection | undefined {
    const { limits } = this.#options;
    const name = sourceOf(raw.remoteAddress ?? '');
    const { count, strangers } = this.#sources.get(name) ?? { count: 0, strangers: none };
    const limit = isLoopback(name) ? limits.fromLoopback : limits.perAddress;
    const isRoom = (count < limit || this.#displace(strangers)) && (this.#open.size < limits.overall || this.#displace(this.#strangers));
    if (!isRoom) {
      this.#countEnded('refused');
      raw.resetAndDestroy();
      return undefined;
    }
    return this.#add(raw, name);
  }

  /** Looks at every connection. Nothing that is found may end the process. */
  sweep(): void {
    const now = this.#now();
    this.#clock += Math.min(now - this.#lookedAt, 2 * this.#options.timeouts.sweep);
    this.#lookedAt = now;
    for (const connection of this.#open) this.#look(connection);
  }

  /** Ends those that no request is open on, and tells the others that nothing follows. */
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
    const connection = new Connection(raw, name, { began: this.#now(), clock: this.#clock, timeouts, onKnown });
    source.count++;
    strangers.add(connection);
    this.#strangers.add(connection);
    this.#open.add(connection);
    raw.on('close', () => this.#remove(connection));
    return connection;
  }

  /** Makes room by ending the oldest of some strangers that asks for nothing. One that has only just come may be about to say who it is. */
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
      // Others come first the next time.
      strangers.delete(stranger);
      strangers.add(stranger);
    }
    return false;
  }

  #remove(connection: Connection): void {
    if (!this.#open.delete(connection)) return;
    this.#strangers.delete(connection);
    const source = this.#sources.get(connection.source)!;
    source.strangers.delete(connection);
    if (--source.count === 0) this.#sources.delete(connection.source);
  }

  #countEnded(why: Ending): void {
    this.#ended.set(why, (this.#ended.get(why) ?? 0) + 1);
  }
}
