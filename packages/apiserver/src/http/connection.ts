import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Http1Exchange } from './http1-exchange.ts';
import type { Http2Exchange } from './http2-exchange.ts';

/** How long a client may keep the server waiting, in milliseconds. */
export interface ConnectionTimeouts {
  /** From the connection to the end of the TLS handshake. */
  readonly handshake: number;
  /** From the handshake to the first request, and from the start of a header to its end. */
  readonly headers: number;
  /** For the whole body of a request. */
  readonly body: number;
  /** For the next request when none is open. */
  readonly idle: number;
  /** For the client to read any part of a response or watch. A watch with nothing to send is not waiting. */
  readonly answer: number;
  /** An HTTP/2 client with open requests that has been silent for this long is sent a ping. */
  readonly quiet: number;
  /** How often connections are checked: the precision of the timeouts above. */
  readonly sweep: number;
}

export const defaultTimeouts: ConnectionTimeouts = {
  handshake: 10_000,
  headers: 30_000,
  body: 60_000,
  idle: 120_000,
  answer: 60_000,
  quiet: 300_000,
  sweep: 1_000,
};

/** The step that a client failed to complete in time. */
export type Failure = 'handshake' | 'headers' | 'idle' | 'answer' | 'gone' | 'unread';

export interface ConnectionOptions {
  /** The start time, and the same by the clock of the connections. */
  readonly began: number;
  readonly clock: number;
  readonly timeouts: ConnectionTimeouts;
  readonly onKnown: (connection: Connection) => void;
  /** Called before its owner changes: they may have this many connections. */
  readonly onOwner: (connection: Connection, owner: string, most: number) => void;
}

/**
 * One connection and its current wait. Requests do almost nothing here; the rest is determined by a periodic check: has the
 * connection made progress since the last check, and if not, since when?
 */
export class Connection {
  readonly source: string;
  readonly began: number;
  /** Whether an authenticated client has used the connection. */
  isKnown = false;
  /** The tenant whose requests came last. */
  owner = '';
  /** Whether requests of several tenants came, as from a proxy. */
  #isMixed = false;
  #isHeld = false;
  /** Of the last request of its owner. */
  readonly last: { authorization: string | undefined; url: string; user: string } = { authorization: undefined, url: '', user: '' };
  readonly #onOwner: ConnectionOptions['onOwner'];
  /** Bytes that the client had not read at the last check. */
  unsent = 0;
  readonly #raw: Socket;
  readonly #timeouts: ConnectionTimeouts;
  readonly #onKnown: (connection: Connection) => void;
  #socket: TLSSocket | undefined;
  #session: ServerHttp2Session | undefined;
  /** HTTP/1.1: the newest request. Earlier ones are answered before it. */
  #newest: Http1Exchange | undefined;
  /** HTTP/2: the open requests. */
  readonly #streams = new Set<Http2Exchange>();
  #hasAsked = false;
  /** HTTP/2: whether there was a request since the connection was last idle. */
  #wasBusy = false;
  #isClosing = false;
  /** Since when it has been in its current wait. */
  #since: number;
  /** Bytes received, and bytes queued for sending, at the last check. */
  #received = 0;
  #queued = 0;
  #stuckSince = 0;
  /** Whether part of a header has arrived. */
  #isPartial = false;

  constructor(raw: Socket, source: string, { began, clock, timeouts, onKnown, onOwner }: ConnectionOptions) {
    this.#onOwner = onOwner;
    this.#raw = raw;
    this.source = source;
    this.began = began;
    this.#since = clock;
    this.#timeouts = timeouts;
    this.#onKnown = onKnown;
  }

  /** An authenticated client uses the connection. */
  known(): void {
    this.isKnown = true;
    this.#onKnown(this);
  }

  belongsTo(owner: string, most: number): void {
    this.#onOwner(this, owner, most);
    if (this.owner !== '') this.#isMixed = true;
    this.owner = owner;
  }

  /** Leaves further requests in the kernel. Those of other tenants must not wait with them. */
  hold(): boolean {
    if (this.#isHeld || this.#isMixed || handleOf(this.#raw)?.readStop === undefined) return false;
    this.#isHeld = true;
    // HTTP/2 sessions read again whenever they have written.
    if (this.#session === undefined) this.#stopReading();
    else setImmediate(() => this.#stopReading());
    return true;
  }

  #stopReading(): void {
    if (this.#isHeld) handleOf(this.#raw)?.readStop?.();
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    handleOf(this.#raw)?.readStart?.();
  }

  /** The handshake is complete. */
  secured(socket: TLSSocket, clock: number): void {
    this.#socket = socket;
    this.#rest(clock);
  }

  /** The client uses HTTP/2. */
  opened(session: ServerHttp2Session): void {
    this.#session = session;
  }

  /** An HTTP/1.1 request arrived. */
  asked(exchange: Http1Exchange): void {
    this.#hasAsked = true;
    this.#newest = exchange;
  }

  /** An HTTP/2 request arrived. */
  askedOnStream(exchange: Http2Exchange): void {
    this.#hasAsked = true;
    this.#wasBusy = true;
    this.#streams.add(exchange);
    exchange.onClose(() => this.#streams.delete(exchange));
  }

  /** Whether no request is being handled or answered. */
  get isIdle(): boolean {
    for (const exchange of this.#streams) if (!exchange.isLingering) return false;
    return this.#newest === undefined || this.#newest.closed;
  }

  /** The server is shutting down: open requests may finish, no new ones may follow. */
  finish(clock: number): void {
    if (this.#session !== undefined || this.isIdle) this.close(clock);
  }

  /** Sends HTTP/2 clients a GOAWAY first, so that they send no more requests. A client that ignores it is cut off by a later check. */
  close(clock: number): void {
    if (this.#session === undefined || this.#isClosing) return this.destroy();
    this.#isClosing = true;
    this.#since = clock;
    this.#session.close();
  }

  destroy(): void {
    this.#session?.destroy();
    this.#socket?.destroy();
    this.#raw.destroy();
  }

  /** Checks the connection. Ends overdue requests; returns the reason if the connection itself must end. */
  look(clock: number): Failure | undefined {
    if (this.#socket === undefined) return clock - this.#since >= this.#timeouts.handshake ? 'handshake' : undefined;
    const failure = this.#session === undefined ? this.#lookHttp1(clock) : this.#lookHttp2(this.#session, clock);
    return failure ?? this.#lookUnsent(this.#socket, clock);
  }

  #lookHttp1(clock: number): Failure | undefined {
    const exchange = this.#newest;
    if (exchange === undefined) return this.#resting(clock);
    if (exchange.closed) {
      // Releases the exchange, which may be large.
      this.#newest = undefined;
      this.#rest(clock);
    } else exchange.look(clock, this.#timeouts);
    return undefined;
  }

  #lookHttp2(session: ServerHttp2Session, clock: number): Failure | undefined {
    if (this.#isClosing) return clock - this.#since >= this.#timeouts.handshake ? 'idle' : undefined;
    if (this.#streams.size > 0) return this.#lookStreams(session, clock);
    if (this.#wasBusy) {
      this.#wasBusy = false;
      this.#rest(clock);
    }
    // Frames that request nothing, such as pings, do not keep a connection open.
    this.#received = this.#raw.bytesRead;
    return this.#resting(clock);
  }

  #lookStreams(session: ServerHttp2Session, clock: number): Failure | undefined {
    const { quiet, answer } = this.#timeouts;
    for (const exchange of this.#streams) exchange.look(clock, this.#timeouts);
    this.#wasBusy = true;
    if (this.#raw.bytesRead !== this.#received) this.#rest(clock);
    else if (clock - this.#since >= quiet + answer) return 'gone';
    else if (clock - this.#since >= quiet && !session.destroyed) session.ping(() => {});
    return undefined;
  }

  /** Detects a client that reads nothing of what it was sent. */
  #lookUnsent(socket: TLSSocket, clock: number): Failure | undefined {
    const queued = this.#session === undefined && socket.writableLength === 0 ? 0 : queuedBytes(this.#raw, socket);
    this.unsent = queued === 0 && this.#streams.size === 0 ? 0 : this.#countUnsent(socket, queued);
    if (queued === 0 || queued !== this.#queued || this.#newest?.isPatient === true) {
      this.#queued = queued;
      this.#stuckSince = clock;
      return undefined;
    }
    return clock - this.#stuckSince >= this.#timeouts.answer ? 'answer' : undefined;
  }

  #countUnsent(socket: TLSSocket, queued: number): number {
    let unsent = Math.max(queued, socket.writableLength);
    for (const exchange of this.#streams) unsent += exchange.unsent;
    return unsent;
  }

  #rest(clock: number): void {
    this.#since = clock;
    this.#received = this.#raw.bytesRead;
    this.#isPartial = false;
  }

  #resting(clock: number): Failure | undefined {
    const { headers, idle } = this.#timeouts;
    if (!this.#hasAsked) return clock - this.#since >= headers ? 'headers' : undefined;
    if (!this.#isPartial && this.#raw.bytesRead !== this.#received) {
      this.#isPartial = true;
      this.#since = clock;
    }
    if (this.#isPartial) return clock - this.#since >= headers ? 'headers' : undefined;
    return clock - this.#since >= idle ? 'idle' : undefined;
  }
}

/** The handle beneath a TLS socket. Node has no public way to it. */
interface Handle {
  readonly writeQueueSize?: number;
  readStart?(): void;
  readStop?(): void;
}

function handleOf(raw: Socket): Handle | undefined {
  return (raw as { readonly _handle?: Handle | null })._handle ?? undefined;
}

/**
 * Bytes that the kernel has not accepted yet. Only the handle knows: Node's own timers for TLS sockets do
 * not see progress in them. Without the handle, the client has to read a whole write within the time meant for any part of it.
 */
function queuedBytes(raw: Socket, socket: TLSSocket): number {
  return handleOf(raw)?.writeQueueSize ?? socket.writableLength;
}
