import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Http1Exchange } from './http1-exchange.ts';
import type { Http2Exchange } from './http2-exchange.ts';

/** How long, in milliseconds, a client may keep the server waiting for something. */
export interface ConnectionTimeouts {
  /** From the connection to the end of the TLS handshake. */
  readonly handshake: number;
  /** From the handshake to the first request, and for the rest of a header once it has begun. */
  readonly headers: number;
  /** For all of a request's body. */
  readonly body: number;
  /** For the next request when none is open. */
  readonly idle: number;
  /** For any part of an answer to be taken, of watches too. A watch that has nothing to send is not waiting. */
  readonly answer: number;
  /** An HTTP/2 client whose requests are open and who has been silent for so long is asked whether it is still there. */
  readonly quiet: number;
  /** How often connections are looked at: the times above are exact to this. */
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

/** What a client failed to do in time. */
export type Failure = 'handshake' | 'headers' | 'idle' | 'answer' | 'gone';

export interface ConnectionOptions {
  /** When it began, and the same by the clock of the connections. */
  readonly began: number;
  readonly clock: number;
  readonly timeouts: ConnectionTimeouts;
  readonly onKnown: (connection: Connection) => void;
}

/**
 * One connection, and what it waits for. Requests leave next to nothing here; everything else is found out when the connection is looked at, once in a while:
 * has what it waits for come nearer since the last look, and if not, since when.
 */
export class Connection {
  readonly source: string;
  readonly began: number;
  /** Whether somebody who could say who they are has used it. */
  isKnown = false;
  readonly #raw: Socket;
  readonly #timeouts: ConnectionTimeouts;
  readonly #onKnown: (connection: Connection) => void;
  #socket: TLSSocket | undefined;
  #session: ServerHttp2Session | undefined;
  /** HTTP/1.1: the newest request. Those before it are answered before it. */
  #newest: Http1Exchange | undefined;
  /** HTTP/2: requests that are open. */
  readonly #streams = new Set<Http2Exchange>();
  #hasAsked = false;
  /** HTTP/2: whether there was a request since it last rested. */
  #wasBusy = false;
  #isClosing = false;
  /** When it began to wait for what it waits for. */
  #since: number;
  /** Bytes that had come, and bytes that waited to be sent, at the last look. */
  #received = 0;
  #queued = 0;
  #stuckSince = 0;
  /** Whether a part of a header has come. */
  #isPartial = false;

  constructor(raw: Socket, source: string, { began, clock, timeouts, onKnown }: ConnectionOptions) {
    this.#raw = raw;
    this.source = source;
    this.began = began;
    this.#since = clock;
    this.#timeouts = timeouts;
    this.#onKnown = onKnown;
  }

  /** Somebody who could say who they are uses it. */
  known(): void {
    this.isKnown = true;
    this.#onKnown(this);
  }

  /** The handshake is over. */
  secured(socket: TLSSocket, clock: number): void {
    this.#socket = socket;
    this.#rest(clock);
  }

  /** It speaks HTTP/2. */
  opened(session: ServerHttp2Session): void {
    this.#session = session;
  }

  /** An HTTP/1.1 request came. */
  asked(exchange: Http1Exchange): void {
    this.#hasAsked = true;
    this.#newest = exchange;
  }

  /** An HTTP/2 request came. */
  askedOnStream(exchange: Http2Exchange): void {
    this.#hasAsked = true;
    this.#wasBusy = true;
    this.#streams.add(exchange);
    exchange.onClose(() => this.#streams.delete(exchange));
  }

  /** Whether no request is being worked on or answered. */
  get isIdle(): boolean {
    for (const exchange of this.#streams) if (!exchange.isLingering) return false;
    return this.#newest === undefined || this.#newest.closed;
  }

  /** The server stops: what is open may be finished, nothing may follow. */
  finish(clock: number): void {
    if (this.#session !== undefined || this.isIdle) this.close(clock);
  }

  /** HTTP/2 clients are told first that it ends, so that they send nothing more on it. One that does not listen is cut off at a later look. */
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

  /** Looks at the connection. Ends requests that are overdue; says why when the connection itself has to end. */
  look(clock: number): Failure | undefined {
    if (this.#socket === undefined) return clock - this.#since >= this.#timeouts.handshake ? 'handshake' : undefined;
    const failure = this.#session === undefined ? this.#lookHttp1(clock) : this.#lookHttp2(this.#session, clock);
    return failure ?? this.#lookUnsent(this.#socket, clock);
  }

  #lookHttp1(clock: number): Failure | undefined {
    const exchange = this.#newest;
    if (exchange === undefined) return this.#resting(clock);
    if (exchange.closed) {
      // It may be large, and is not needed any more.
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
    // Frames that ask for nothing, such as pings, keep no connection open.
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

  /** A connection whose client takes nothing of what it was sent. */
  #lookUnsent(socket: TLSSocket, clock: number): Failure | undefined {
    const queued = this.#session === undefined && socket.writableLength === 0 ? 0 : queuedBytes(this.#raw, socket);
    if (queued === 0 || queued !== this.#queued) {
      this.#queued = queued;
      this.#stuckSince = clock;
      return undefined;
    }
    return clock - this.#stuckSince >= this.#timeouts.answer ? 'answer' : undefined;
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

/**
 * Bytes that the system has not taken yet. Only the handle beneath a TLS socket knows: Node's own timers of TLS sockets do not see such bytes move. Without it,
 * what was written at once has to be taken in the time that is meant for a part of it.
 */
function queuedBytes(raw: Socket, socket: TLSSocket): number {
  const { _handle: handle } = raw as { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return handle?.writeQueueSize ?? socket.writableLength;
}
