import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { Connection as Address } from '@capstan/testbed';
import { BodyReader } from './body-reader.ts';

/**
 * One keep-alive HTTP/1.1 connection with one request at a time. Hand-written because the generator shares its cores with the server it
 * measures: `node:https` costs several times more per request.
 */
export class Connection {
  readonly #socket: TLSSocket;
  readonly #onEnd: (error: Error) => void;
  #reader: BodyReader | undefined;
  #ended: Error | undefined;

  private constructor(socket: TLSSocket, onEnd: (error: Error) => void) {
    this.#socket = socket;
    this.#onEnd = onEnd;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the server closed the connection')));
  }

  static open(address: Address, context: SecureContext, onEnd: (error: Error) => void = () => {}): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: address.host,
        port: address.port,
        secureContext: context,
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
      });
      socket.once('error', reject);
      socket.once('secureConnect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket, onEnd));
      });
    });
  }

  /** Sends a request made by `requestText`. `onText` receives the body as it arrives; without it, the body is only counted. */
  send(request: string, done: (status: number, bytes: number) => void, onText?: (text: string) => void): void {
    if (this.#ended !== undefined) return;
    this.#reader = new BodyReader(done, onText);
    this.#socket.write(request, 'latin1');
  }

  close(): void {
    this.#ended ??= new Error('closed');
    this.#socket.destroy();
  }

  #received(chunk: Buffer): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    if (reader.read(chunk)) {
      // `finish` may send a new request, so drop the old reader first.
      this.#reader = undefined;
      reader.finish();
    }
  }

  #end(error: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    this.#onEnd(error);
  }
}

export function secureContext(address: Address): SecureContext {
  return createSecureContext({
    ...(address.certificate === undefined ? {} : { cert: address.certificate }),
    ...(address.key === undefined ? {} : { key: address.key }),
  });
}

export interface RequestParts {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
  readonly token?: string | undefined;
  readonly accept?: string;
}

export function requestText({
  method,
  path,
  body,
  contentType = 'application/json',
  token,
  accept = 'application/json',
}: RequestParts): string {
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\nHost: load\r\n${authorization}Accept: ${accept}\r\n`;
  return body === undefined
    ? `${head}\r\n`
    : `${head}Content-Type: ${contentType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
