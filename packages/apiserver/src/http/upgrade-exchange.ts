import { type IncomingMessage, ServerResponse } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { UpgradeRequest } from '@capstan/streams';
import type { Connection } from './connection.ts';
import type { Answer, AnswerStream } from './exchange.ts';
import { Http1Exchange } from './http1-exchange.ts';

/** The protocols that clients can switch to, in lower case. Requests for others, such as h2c, are answered with HTTP/1.1. */
const protocols: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1', 'capstan-tunnel']);

/** Whether a request is to be handled as an upgrade. A request with a body is not: the body could not be told from the new protocol. */
export function asksToUpgrade({ headers }: IncomingMessage): boolean {
  return protocols.has(headers.upgrade?.toLowerCase() ?? '') && (headers['content-length'] ?? '0') === '0' && !headers['transfer-encoding'];
}

interface Upgrading {
  readonly socket: TLSSocket;
  /** The bytes that came after the request. */
  readonly head: Buffer;
  readonly connection: Connection;
}

/** A request to change protocols. Any other response than 101 is an ordinary one, after which the connection closes. */
export class UpgradeExchange extends Http1Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #socket: TLSSocket;
  readonly #head: Buffer;

  private constructor(request: IncomingMessage, response: ServerResponse, { socket, head, connection }: Upgrading) {
    super(request, response, connection);
    this.#request = request;
    this.#response = response;
    this.#socket = socket;
    this.#head = head;
  }

  /**
   * Undefined if the connection is not free. Node answers some requests itself, such as those without a host, and nobody else knows of a response that
   * is not sent yet. It throws when another one takes the connection over, which would end the process.
   */
  static on(
    { socket, head }: Omit<Upgrading, 'connection'>,
    request: IncomingMessage,
    connection: Connection,
  ): UpgradeExchange | undefined {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    try {
      response.assignSocket(socket);
    } catch {
      return undefined;
    }
    response.on('finish', () => socket.destroySoon());
    return new UpgradeExchange(request, response, { socket, head, connection });
  }

  override get upgradeTo(): string | undefined {
    return this.#request.headers.upgrade?.toLowerCase();
  }

  /** Such a request has no body, and its end is never reported. */
  override body(): Promise<Buffer> {
    return Promise.resolve(Buffer.alloc(0));
  }

  override bodyStream(): Readable {
    return Readable.from([]);
  }

  override get closed(): boolean {
    return this.#socket.destroyed;
  }

  override onClose(listener: () => void): void {
    this.#socket.on('close', listener);
  }

  override abandon(): void {
    this.#socket.destroy();
  }

  protected override respond(answer: Answer): void {
    this.#ignoreMore();
    super.respond(answer);
  }

  override stream(code: number, type: string, length?: number): AnswerStream {
    this.#ignoreMore();
    return super.stream(code, type, length);
  }

  override upgrade(): UpgradeRequest {
    this.beforeAnswer?.();
    this.code = 101;
    this.isPatient = true;
    this.#response.detachSocket(this.#socket);
    return { request: this.#request, socket: this.#socket, head: this.#head, headers: this.extra };
  }

  /** The connection closes after an ordinary response, so what the client sends meanwhile is not for us. If nobody read it, nobody would notice that the client leaves. */
  #ignoreMore(): void {
    this.#socket.resume();
  }
}

/** Sends 101 and returns the connection, to be used with the new protocol. */
export function switchProtocols({ socket, head, headers = [] }: UpgradeRequest, more: readonly string[]): Duplex {
  const all = [...more, ...headers];
  let text = 'HTTP/1.1 101 Switching Protocols\r\n';
  for (let at = 0; at + 1 < all.length; at += 2) text += `${all[at]}: ${all[at + 1]}\r\n`;
  socket.write(`${text}\r\n`, 'latin1');
  if (head.length > 0) socket.unshift(head);
  return socket;
}
