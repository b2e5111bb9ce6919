import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { constants, type IncomingHttpHeaders as Http2Headers, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { status } from '@capstan/machinery';

export interface Answer {
  readonly code: number;
  /** Empty for an answer without a body. */
  readonly type: string;
  readonly body: string | Buffer;
}

/** Whoever has to do something before an answer leaves. */
export interface AnswerKeeper {
  /** Asked when the answer is known. */
  readonly holds: boolean;
  /** `send` is to be called once, when the answer may leave. */
  hold(send: () => void): void;
}

/** One request and its answer, whatever the version of HTTP. */
export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** `name, value, name, value…` as they came. */
  readonly rawHeaders: readonly string[];
  readonly remoteAddress: string;
  readonly socket: TLSSocket;
  /** Called once, just before the answer is sent: the last chance to add headers. */
  beforeAnswer: (() => void) | undefined;
  /** Answers that go on, such as watches, are not held. */
  keeper: AnswerKeeper | undefined;
  /** The bodies as they were received and sent, for the audit log. */
  readonly received: Buffer | undefined;
  readonly sent: string | Buffer | undefined;
  /** What the audit log says beside. */
  annotations: Readonly<Record<string, string>> | undefined;
  /** Adds a header to the answer; before it is sent. */
  header(name: string, value: string): void;
  /** Reads the whole body. Rejects with a `StatusError` when it is too large or does not arrive. */
  body(limit: number): Promise<Buffer>;
  send(answer: Answer): void;
  /** Begins an answer that goes on. */
  stream(code: number, type: string): AnswerStream;
  readonly answered: boolean;
  /** The code that was answered with; 0 before. */
  readonly code: number;
  /** Whether it is over. */
  readonly closed: boolean;
  /** Called once when the exchange is over, however it ended. */
  onClose(listener: () => void): void;
}

export interface AnswerStream {
  write(chunk: string | Buffer): void;
  /** Bytes that the client has not taken yet. */
  readonly pending: number;
  end(): void;
  /** Cuts the connection: the client did not read for too long. */
  abort(): void;
  /** Calls back when what was written has been taken. */
  onDrain(listener: () => void): void;
}

function tooLarge(limit: number): Error {
  return status.requestTooLarge(`limit is ${limit}`);
}

abstract class BaseExchange {
  protected readonly extra: string[] = [];
  code = 0;
  beforeAnswer: (() => void) | undefined;
  keeper: AnswerKeeper | undefined;
  received: Buffer | undefined;
  sent: string | Buffer | undefined;
  annotations: Readonly<Record<string, string>> | undefined;

  header(name: string, value: string): void {
    // Every answer says first that it is not to be kept; a page that may be says so after.
    const known = name === 'Cache-Control' || name === 'Vary' ? this.extra.indexOf(name) : -1;
    if (known >= 0 && name === 'Vary') this.#vary(known + 1, value);
    else if (known >= 0) this.extra[known + 1] = value;
    else this.extra.push(name, value);
  }

  /** What an answer depends on is named once. */
  #vary(at: number, value: string): void {
    if (!this.extra[at]!.split(', ').includes(value)) this.extra[at] += `, ${value}`;
  }

  get answered(): boolean {
    return this.code !== 0;
  }

  send(answer: Answer): void {
    if (this.answered || this.closed) return;
    this.beforeAnswer?.();
    this.code = answer.code;
    this.sent = answer.body;
    if (this.keeper?.holds === true) this.keeper.hold(() => this.respond(answer));
    else this.respond(answer);
  }

  abstract readonly closed: boolean;

  /** Puts the answer on its way. The client may have left meanwhile. */
  protected abstract respond(answer: Answer): void;

  protected async receiving(body: Promise<Buffer>): Promise<Buffer> {
    return (this.received = await body);
  }
}

/** A client that sends slower than this is cut off. */
const bodyTimeout = 60_000;

/** Collects a body from a readable half of either protocol. */
function collect(stream: IncomingMessage | ServerHttp2Stream, declared: string | undefined, limit: number): Promise<Buffer> {
  if (declared !== undefined && Number(declared) > limit) return Promise.reject(tooLarge(limit));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    // HTTP/1.1 has a timer of its own for this.
    if (!('complete' in stream))
      stream.setTimeout(bodyTimeout, () => reject(status.timeout('the body of the request did not arrive in time', 1)));
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        stream.removeAllListeners('data');
        stream.resume();
        reject(tooLarge(limit));
        return;
      }
      chunks.push(chunk);
    });
    stream.on('end', () => {
      if (!('complete' in stream)) stream.setTimeout(0);
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
    });
    stream.on('error', (error) => reject(status.badRequest(`the body of the request could not be read: ${error.message}`)));
    stream.on('aborted', () => reject(status.badRequest('the body of the request ended before it was complete')));
  });
}

export class Http1Exchange extends BaseExchange implements Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse) {
    super();
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
    return this.receiving(collect(this.#request, this.#request.headers['content-length'], limit));
  }

  get closed(): boolean {
    return this.#response.destroyed;
  }

  protected respond({ code, type, body }: Answer): void {
    if (this.closed) return;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const headers = type === '' ? [...this.extra] : [...this.extra, 'Content-Type', type, 'Content-Length', String(length)];
    // What was not read of the body would be taken for the next request: close instead.
    if (!this.#request.complete && (this.#request.headers['content-length'] ?? '0') !== '0') headers.push('Connection', 'close');
    this.#response.writeHead(code, headers);
    if (this.#request.method === 'HEAD') this.#response.end();
    // Headers that are sent in one piece with a text are taken for text too: what is UTF-8 in them already would be encoded twice.
    else this.#response.end(typeof body === 'string' && this.extra.includes('Warning') ? Buffer.from(body) : body);
  }

  stream(code: number, type: string): AnswerStream {
    this.code = code;
    const response = this.#response;
    response.writeHead(code, [...this.extra, 'Content-Type', type, 'Transfer-Encoding', 'chunked']);
    response.flushHeaders();
    return {
      write: (chunk) => void response.write(chunk),
      get pending() {
        return response.writableLength;
      },
      end: () => void response.end(),
      abort: () => void response.destroy(),
      onDrain: (listener) => void response.once('drain', listener),
    };
  }

  onClose(listener: () => void): void {
    this.#response.on('close', listener);
  }
}

export class Http2Exchange extends BaseExchange implements Exchange {
  readonly #stream: ServerHttp2Stream;
  readonly headers: Http2Headers;
  readonly rawHeaders: readonly string[];

  constructor(stream: ServerHttp2Stream, headers: Http2Headers, rawHeaders: readonly string[]) {
    super();
    this.#stream = stream;
    this.headers = headers;
    this.rawHeaders = rawHeaders;
  }

  get method(): string {
    return this.headers[':method'] ?? 'GET';
  }

  get url(): string {
    return this.headers[':path'] ?? '/';
  }

  get remoteAddress(): string {
    return this.#stream.session?.socket.remoteAddress ?? '';
  }

  get socket(): TLSSocket {
    return this.#stream.session?.socket as TLSSocket;
  }

  body(limit: number): Promise<Buffer> {
    return this.receiving(collect(this.#stream, this.headers['content-length'], limit));
  }

  get closed(): boolean {
    return this.#stream.destroyed;
  }

  protected respond({ code, type, body }: Answer): void {
    if (this.closed) return;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const withBody = this.headers[':method'] !== 'HEAD' && length > 0;
    this.#stream.respond(this.#answerHeaders(code, type, String(length)), { endStream: !withBody });
    if (withBody) this.#stream.end(body);
    // A client that still sends a refused body is told to stop, so that it can go on with its other requests.
    if (!this.#stream.readableEnded && this.headers['content-length'] !== undefined) this.#stream.resume();
  }

  stream(code: number, type: string): AnswerStream {
    this.code = code;
    const stream = this.#stream;
    stream.respond(this.#answerHeaders(code, type));
    return {
      write: (chunk) => void stream.write(chunk),
      get pending() {
        return stream.writableLength;
      },
      end: () => void stream.end(),
      abort: () => stream.close(constants.NGHTTP2_CANCEL),
      onDrain: (listener) => void stream.once('drain', listener),
    };
  }

  onClose(listener: () => void): void {
    this.#stream.on('close', listener);
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
