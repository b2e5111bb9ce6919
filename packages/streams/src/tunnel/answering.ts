import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Duplex, Readable } from 'node:stream';
import { defaultLimits, plainHeaders, sendableHeaders, type TunnelLimits } from './protocol.ts';
import { endSession, settled, watchPeer } from './session.ts';

/** A request that arrived through a tunnel. */
export interface TunnelRequest {
  readonly method: string;
  /** The path and the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, for handlers whose response depends on it. It is the stream that `respond` returns. */
  readonly body: Readable;
  /** Aborted when the stream ends, however it ends. */
  readonly signal: AbortSignal;
  /** Sends the head of the response; the stream then reads the body of the request and writes that of the response. */
  respond(status: number, headers?: Readonly<Record<string, string>>): Duplex;
}

/** Answers a request. An error, or an end without a response, resets the stream. */
export type TunnelHandler = (request: TunnelRequest) => void | Promise<void>;

export interface AnsweringOptions extends Partial<TunnelLimits> {
  readonly handle: TunnelHandler;
  readonly onError?: (error: unknown) => void;
}

/** The end of a tunnel that answers requests. */
export interface AnsweringTunnel extends AsyncDisposable {
  /** Resolves when the other end sends no more requests: it said so, or the tunnel is gone. */
  readonly ended: Promise<void>;
  /** Resolves when the tunnel is gone, with the reason if it broke. */
  readonly closed: Promise<Error | undefined>;
  readonly openStreams: number;
  destroy(): void;
}

/** Begins to answer requests that the other end of the connection sends. */
export async function answerTunnel(socket: Duplex, options: AnsweringOptions): Promise<AnsweringTunnel> {
  await settled(socket);
  const limits = { ...defaultLimits, ...options };
  const session = performServerHandshake(socket, {
    settings: { initialWindowSize: limits.streamWindow, maxConcurrentStreams: limits.concurrentStreams },
    maxSessionMemory: 256,
  });
  session.setLocalWindowSize(limits.sessionWindow);
  return new AnsweringEnd(session, { limits, socket }, options);
}

class AnsweringEnd implements AnsweringTunnel {
  readonly ended: Promise<void>;
  readonly closed: Promise<Error | undefined>;
  readonly #session: ServerHttp2Session;
  readonly #limits: TunnelLimits;
  #openStreams = 0;

  constructor(
    session: ServerHttp2Session,
    { limits, socket }: { readonly limits: TunnelLimits; readonly socket: Duplex },
    { handle, onError = () => {} }: AnsweringOptions,
  ) {
    this.#session = session;
    this.#limits = limits;
    let failure: Error | undefined;
    session.on('error', (error: Error) => (failure ??= error));
    this.closed = new Promise((resolve) => session.once('close', () => resolve(failure)));
    this.ended = new Promise((resolve) => {
      session.once('goaway', () => resolve());
      session.once('close', () => resolve());
    });
    session.on('stream', (stream, headers) => {
      this.#openStreams++;
      stream.once('close', () => this.#openStreams--);
      stream.on('error', () => {});
      void answer(stream, { handle, onError, headers: headers as NodeJS.Dict<string> });
    });
    watchPeer(session, limits, socket);
  }

  get openStreams(): number {
    return this.#openStreams;
  }

  destroy(): void {
    this.#session.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return endSession(this.#session, this.#limits.grace);
  }
}

async function answer(
  stream: ServerHttp2Stream,
  { handle, onError, headers }: { handle: TunnelHandler; onError: (error: unknown) => void; headers: NodeJS.Dict<string> },
): Promise<void> {
  const end = new AbortController();
  stream.once('close', () => end.abort());
  try {
    await handle({
      method: headers[':method'] ?? 'GET',
      path: headers[':path'] ?? '/',
      headers: plainHeaders(headers),
      body: stream,
      signal: end.signal,
      respond: (status, more = {}) => {
        if (!stream.destroyed) stream.respond({ ':status': status, ...sendableHeaders(more) });
        return stream;
      },
    });
    if (!stream.headersSent && !stream.destroyed) stream.destroy(new Error('the handler gave no response'));
  } catch (error) {
    // With an error, since the other end takes a stream that is only closed for complete.
    if (!stream.destroyed) stream.destroy(error instanceof Error ? error : new Error(String(error)));
    if (!end.signal.aborted) onError(error);
  }
}
