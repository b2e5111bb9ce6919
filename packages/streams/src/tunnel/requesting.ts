import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { NodeConnection, NodeRequest, NodeResponse } from '../node-connection.ts';
import { TunnelError } from './error.ts';
import { defaultLimits, plainHeaders, sendableHeaders, type TunnelLimits } from './protocol.ts';
import { endSession, settled, watchPeer } from './session.ts';

/** The end of a tunnel that sends requests. */
export interface Tunnel extends NodeConnection, AsyncDisposable {
  /** Whether it takes requests. False from the moment that either end announces its end. */
  readonly isOpen: boolean;
  readonly openStreams: number;
  /** Resolves when it takes no more requests. Streams that would never end by themselves have to be ended then. */
  readonly ended: Promise<void>;
  /** Resolves when the tunnel is gone, with the reason if it broke. */
  readonly closed: Promise<Error | undefined>;
  /** Takes no more requests and lets open streams finish, without a limit of time. */
  drain(): void;
  /** Ends it with all its streams. */
  destroy(error?: Error): void;
}

/** Begins to send requests over a connection on which the other end has been told to expect them. */
export async function openTunnel(socket: Duplex, options: Partial<TunnelLimits> = {}): Promise<Tunnel> {
  await settled(socket);
  // Before the session's own listener, for which streams that a broken connection cuts off have come to their end.
  socket.once('close', () => {
    if (!session.destroyed) session.destroy(new TunnelError('closed', 'the connection of the tunnel ended'));
  });
  const limits = { ...defaultLimits, ...options };
  const session = connect('http://node', {
    createConnection: () => socket,
    settings: { initialWindowSize: limits.streamWindow, enablePush: false },
    maxSessionMemory: 256,
    peerMaxConcurrentStreams: limits.concurrentStreams,
  });
  return new RequestingEnd(session, { limits, socket });
}

class RequestingEnd implements Tunnel {
  readonly ended: Promise<void>;
  readonly closed: Promise<Error | undefined>;
  readonly #session: ClientHttp2Session;
  readonly #limits: TunnelLimits;
  readonly #end: () => void;
  #isOpen = true;
  #openStreams = 0;

  constructor(session: ClientHttp2Session, { limits, socket }: { readonly limits: TunnelLimits; readonly socket: Duplex }) {
    this.#session = session;
    this.#limits = limits;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.ended = ended;
    this.#end = () => {
      this.#isOpen = false;
      resolve();
    };
    let failure: Error | undefined;
    session.once('connect', () => session.setLocalWindowSize(limits.sessionWindow));
    session.on('error', (error: Error) => (failure ??= error));
    session.on('goaway', this.#end);
    this.closed = new Promise((closed) => {
      session.once('close', () => {
        this.#end();
        closed(failure);
      });
    });
    watchPeer(session, limits, socket);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get openStreams(): number {
    return this.#openStreams;
  }

  async request({ method, path, headers = {}, body, signal }: NodeRequest): Promise<NodeResponse> {
    signal.throwIfAborted();
    if (!this.#isOpen) throw new TunnelError('closed', 'the tunnel to the node is closed');
    const { concurrentStreams } = this.#limits;
    if (this.#openStreams >= concurrentStreams)
      throw new TunnelError('busy', `the tunnel to the node has ${concurrentStreams} open streams, and no more are allowed`);
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const stream = this.#session.request({ ':method': method, ':path': path, ...sendableHeaders(headers) }, { endStream: !hasBody });
    const abort = (): void => void stream.destroy();
    signal.addEventListener('abort', abort, { once: true });
    this.#openStreams++;
    stream.once('close', () => {
      this.#openStreams--;
      signal.removeEventListener('abort', abort);
    });
    if (hasBody) body?.pipe(stream);
    return answerOf(stream, signal);
  }

  drain(): void {
    this.#end();
    if (!this.#session.closed) this.#session.close();
  }

  destroy(error?: Error): void {
    this.#end();
    this.#session.destroy(error ?? new TunnelError('closed', 'the tunnel was closed'));
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    return endSession(this.#session, this.#limits.grace);
  }
}

function answerOf(stream: ClientHttp2Stream, signal: AbortSignal): Promise<NodeResponse> {
  return new Promise((resolve, reject) => {
    let failure: Error | undefined;
    // Stays for the whole life of the stream: a reset must never end the process.
    stream.on('error', (error: Error) => (failure ??= error));
    stream.once('response', (headers) => {
      resolve({ status: headers[':status'] ?? 0, headers: plainHeaders(headers), stream });
    });
    stream.once('close', () => {
      if (signal.aborted) reject(signal.reason);
      else reject(new TunnelError('closed', 'the tunnel ended before the node answered', failure && { cause: failure }));
    });
  });
}
