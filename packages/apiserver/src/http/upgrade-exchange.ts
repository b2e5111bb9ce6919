import { type IncomingMessage, ServerResponse } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { UpgradeRequest } from '@capstan/streams';
import type { Connection } from './connection.ts';
import { Http1Exchange } from './http1-exchange.ts';

/** The protocols that clients can switch to, in lower case. Requests for others, such as h2c, are answered with HTTP/1.1. */
const protocols: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1', 'capstan-tunnel']);

/** Whether a request is to be handled as an upgrade. A request with a body is not: the body could not be told from the new protocol. */
export function asksToUpgrade({ headers }: IncomingMessage): boolean {
  return protocols.has(headers.upgrade?.toLowerCase() ?? '') && (headers['content-length'] ?? '0') === '0' && !headers['transfer-encoding'];
}

/** A request to change protocols. Any other response than 101 is an ordinary one, after which the connection closes. */
export class UpgradeExchange extends Http1Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #socket: TLSSocket;
  readonly #head: Buffer;

  constructor(request: IncomingMessage, { socket, head }: { socket: TLSSocket; head: Buffer }, connection: Connection) {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.on('finish', () => socket.destroySoon());
    super(request, response, connection);
    this.#request = request;
    this.#response = response;
    this.#socket = socket;
    this.#head = head;
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

  override upgrade(): UpgradeRequest {
    this.beforeAnswer?.();
    this.code = 101;
    this.isPatient = true;
    this.#response.detachSocket(this.#socket);
    return { request: this.#request, socket: this.#socket, head: this.#head, headers: this.extra };
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
