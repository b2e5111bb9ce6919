import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { BaseExchange } from './base-exchange.ts';
import type { Connection, ConnectionTimeouts } from './connection.ts';
import type { Answer, AnswerStream, Exchange } from './exchange.ts';
import { endWith, LongWrites } from './long-writes.ts';

export class Http1Exchange extends BaseExchange implements Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse, connection: Connection) {
    super(connection);
    this.#request = request;
    this.#response = response;
  }

  get method(): string {
    return this.#request.method ?? 'GET';
  }

  get url(): string {
    return this.#request.url ?? '/';
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  get remoteAddress(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  get socket(): TLSSocket {
    return this.#request.socket as TLSSocket;
  }

  body(limit: number): Promise<Buffer> {
    return this.receiving(this.#request, this.#request.headers['content-length'], limit);
  }

  get hasBody(): boolean {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = this.#request.headers;
    return encoding !== undefined || length !== '0';
  }

  bodyStream(): Readable {
    return this.#request;
  }

  get closed(): boolean {
    return this.#response.destroyed;
  }

  protected respond({ code, type, body }: Answer): void {
    if (this.closed) return;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const headers = type === '' ? [...this.extra] : [...this.extra, 'Content-Type', type, 'Content-Length', String(length)];
    // The unread rest of the body would be parsed as the next request, so close the connection.
    if (!this.#request.complete && (this.#request.headers['content-length'] ?? '0') !== '0') headers.push('Connection', 'close');
    this.#response.writeHead(code, headers);
    if (this.#request.method === 'HEAD') this.#response.end();
    // Node encodes headers together with a string body, so UTF-8 in them would be encoded twice.
    else endWith(this.#response, typeof body === 'string' && this.extra.includes('Warning') ? Buffer.from(body) : body, this);
  }

  abandon(): void {
    this.#response.destroy();
  }

  stream(code: number, type: string, length?: number): AnswerStream {
    this.code = code;
    const response = this.#response;
    const framing = length === undefined ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(length)];
    response.writeHead(code, [...this.extra, ...(type === '' ? [] : ['Content-Type', type]), ...framing]);
    response.flushHeaders();
    const writes = new LongWrites(response, this);
    return {
      write: (chunk) => writes.write(chunk),
      get pending() {
        return writes.pending;
      },
      end: () => writes.end(),
      abort: () => void response.destroy(),
      onDrain: (listener) => writes.onDrain(listener),
    };
  }

  onClose(listener: () => void): void {
    this.#response.on('close', listener);
  }

  /** Rejects a body that does not arrive in time. */
  look(clock: number, { body }: ConnectionTimeouts): void {
    this.isOverdue(clock, body);
  }
}
