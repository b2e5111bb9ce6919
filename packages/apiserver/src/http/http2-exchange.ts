import { constants, type IncomingHttpHeaders as Http2Headers, type ServerHttp2Stream } from 'node:http2';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { BaseExchange } from './base-exchange.ts';
import type { Connection, ConnectionTimeouts } from './connection.ts';
import type { Answer, AnswerStream, Exchange } from './exchange.ts';
import { endWith, LongWrites } from './long-writes.ts';

interface Http2Request {
  readonly headers: Http2Headers;
  readonly rawHeaders: readonly string[];
  readonly socket: TLSSocket;
}

export class Http2Exchange extends BaseExchange implements Exchange {
  readonly #stream: ServerHttp2Stream;
  #isTimed = false;
  readonly headers: Http2Headers;
  readonly rawHeaders: readonly string[];
  /** Of the session, which forgets it when it ends. */
  readonly socket: TLSSocket;

  constructor(stream: ServerHttp2Stream, request: Http2Request, connection: Connection) {
    super(connection);
    this.#stream = stream;
    this.headers = request.headers;
    this.rawHeaders = request.rawHeaders;
    this.socket = request.socket;
  }

  get method(): string {
    return this.headers[':method'] ?? 'GET';
  }

  get url(): string {
    return this.headers[':path'] ?? '/';
  }

  get remoteAddress(): string {
    return this.socket.remoteAddress ?? '';
  }

  body(limit: number): Promise<Buffer> {
    return this.receiving(this.#stream, this.headers['content-length'], limit);
  }

  get hasBody(): boolean {
    return !this.#stream.endAfterHeaders;
  }

  bodyStream(): Readable {
    return this.#stream;
  }

  get closed(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  protected respond({ code, type, body }: Answer): void {
    if (this.closed) return;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const withBody = this.headers[':method'] !== 'HEAD' && length > 0;
    this.#stream.respond(this.#answerHeaders(code, type, String(length)), { endStream: !withBody });
    if (withBody) endWith(this.#stream, body, this);
    // Discards the rest of a rejected body, so that the client can continue with its other requests.
    if (!this.#stream.readableEnded && this.headers['content-length'] !== undefined) this.#stream.resume();
  }

  abandon(): void {
    this.#stream.destroy();
  }

  stream(code: number, type: string, length?: number): AnswerStream {
    this.code = code;
    const stream = this.#stream;
    stream.respond(this.#answerHeaders(code, type, length === undefined ? undefined : String(length)));
    const writes = new LongWrites(stream, this);
    return {
      write: (chunk) => writes.write(chunk),
      get pending() {
        return writes.pending;
      },
      end: () => writes.end(),
      // `close` would end the response first, which would look complete.
      abort: () => void stream.destroy(new Error('the response was cut')),
      onDrain: (listener) => writes.onDrain(listener),
    };
  }

  onClose(listener: () => void): void {
    this.#stream.on('close', listener);
  }

  /** Bytes that wait for the client. */
  get unsent(): number {
    return this.#stream.writableLength;
  }

  /** Whether the response is complete, but the client keeps sending or keeps its side open. */
  get isLingering(): boolean {
    return this.answered && this.#stream.writableFinished;
  }

  /** Rejects a body that does not arrive in time, and ends a stream whose client neither reads nor ends it. */
  look(clock: number, { body, answer }: ConnectionTimeouts): void {
    const { isLingering } = this;
    if (this.isOverdue(clock, body, isLingering) && isLingering) this.#stream.close(constants.NGHTTP2_NO_ERROR);
    else if (!this.#isTimed && !this.isPatient && this.#stream.writableLength > 0) this.#time(answer);
  }

  /** Node reports the lack of progress of a stream only through this timer. It is set only for streams found waiting. */
  #time(limit: number): void {
    this.#isTimed = true;
    this.#stream.setTimeout(limit, () => {
      this.#isTimed = false;
      this.#stream.setTimeout(0);
      if (this.#stream.writableLength > 0) this.#stream.close(constants.NGHTTP2_CANCEL);
    });
  }

  #answerHeaders(code: number, type: string, length?: string): Record<string, string | number | string[]> {
    const headers: Record<string, string | number | string[]> = { ':status': code };
    if (type !== '') headers['content-type'] = type;
    if (length !== undefined && type !== '') headers['content-length'] = length;
    for (let at = 0; at < this.extra.length; at += 2) {
      const name = this.extra[at]!.toLowerCase();
      const known = headers[name];
      if (known === undefined) headers[name] = this.extra[at + 1]!;
      else headers[name] = [...(Array.isArray(known) ? known : [String(known)]), this.extra[at + 1]!];
    }
    return headers;
  }
}
