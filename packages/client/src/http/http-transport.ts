import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Credential } from '../credentials/credentials.ts';
import type { Connection } from '../kubeconfig/connection.ts';
import { ConnectionError } from '../rest/error.ts';
import { defaultTimeouts, type Outgoing, type Received, type Timeouts, type Transport } from '../rest/transport.ts';
import { hostOf, impersonationHeaders, tlsOptions } from './dial-options.ts';
import { HttpReceived } from './http-received.ts';

interface Agents {
  readonly certificate: Credential['certificate'];
  readonly kept: HttpAgent;
  readonly lasting: HttpAgent;
}

/** HTTP/1.1 over pooled connections; each watch has a connection to itself, so that none waits for another. */
export class HttpTransport implements Transport {
  readonly #connection: Connection;
  readonly #base: URL;
  readonly #timeouts: Timeouts;
  readonly #headers: Record<string, string | string[]>;
  #agents: Agents | undefined;

  constructor(
    connection: Connection,
    options: { readonly timeouts?: Partial<Timeouts> | undefined; readonly userAgent?: string | undefined } = {},
  ) {
    this.#connection = connection;
    this.#base = new URL(connection.server);
    this.#timeouts = { ...defaultTimeouts, ...options.timeouts };
    this.#headers = { 'user-agent': options.userAgent ?? 'capstan-client', ...impersonationHeaders(connection) };
  }

  async send(outgoing: Outgoing): Promise<Received> {
    outgoing.signal?.throwIfAborted();
    const got = this.#connection.credentials.current();
    const credential = got instanceof Promise ? await got : got;
    const answer = await this.#exchange(outgoing, credential);
    return new HttpReceived(answer.statusCode === 401 ? await this.#renewed(outgoing, { answer, credential }) : answer);
  }

  /** After a rejected credential there may be a newer one: a replaced token, or one that had expired by the server's clock. */
  async #renewed(
    outgoing: Outgoing,
    refused: { readonly answer: IncomingMessage; readonly credential: Credential },
  ): Promise<IncomingMessage> {
    const { credentials } = this.#connection;
    if (credentials.refused === undefined) return refused.answer;
    credentials.refused(refused.credential);
    const credential = await credentials.current();
    const isSame =
      credential.authorization === refused.credential.authorization && credential.certificate === refused.credential.certificate;
    if (isSame) return refused.answer;
    refused.answer.resume();
    return this.#exchange(outgoing, credential);
  }

  #exchange(outgoing: Outgoing, credential: Credential): Promise<IncomingMessage> {
    const { connect, response } = { ...this.#timeouts, ...outgoing.timeouts };
    const agents = this.#agentsFor(credential);
    return new Promise((resolve, reject) => {
      const headers: Record<string, string | string[] | number> = { ...this.#headers, ...outgoing.headers };
      if (credential.authorization !== undefined) headers.authorization = credential.authorization;
      if (outgoing.body !== undefined) headers['content-length'] = Buffer.byteLength(outgoing.body);
      const request = (this.#base.protocol === 'https:' ? httpsRequest : httpRequest)({
        host: hostOf(this.#base),
        port: this.#base.port === '' ? undefined : this.#base.port,
        method: outgoing.method,
        path: outgoing.path,
        agent: outgoing.dedicated && !hasSpare(agents.kept) ? agents.lasting : agents.kept,
        headers,
        ...(outgoing.signal && { signal: outgoing.signal }),
      });
      const late = setTimeout(
        () => fail(new ConnectionError('response-timeout', `${this.#name(outgoing)} was not answered within ${response} ms`)),
        response,
      );
      const fail = (error: Error): void => {
        clearTimeout(late);
        request.destroy(error);
        reject(error);
      };
      limitConnect(request, connect, () =>
        fail(new ConnectionError('connect-timeout', `${this.#connection.server} could not be reached within ${connect} ms`)),
      );
      request.on('error', (error) => {
        clearTimeout(late);
        reject(outgoing.signal?.aborted || error instanceof ConnectionError ? error : this.#broken(outgoing, error));
      });
      request.on('response', (answer) => {
        clearTimeout(late);
        resolve(answer);
      });
      request.end(outgoing.body);
    });
  }

  #broken(outgoing: Outgoing, error: Error): ConnectionError {
    return new ConnectionError(
      'failed',
      `${this.#name(outgoing)} failed: ${error.message || (error as NodeJS.ErrnoException).code}`,
      error,
    );
  }

  #name({ method, path }: Outgoing): string {
    return `${method} ${this.#base.origin}${path}`;
  }

  /** Connections belong to the certificate that opened them. */
  #agentsFor({ certificate }: Credential): Agents {
    if (this.#agents !== undefined && this.#agents.certificate === certificate) return this.#agents;
    if (this.#agents !== undefined) retire(this.#agents);
    const make = (options: { keepAlive: boolean; maxSockets: number }): HttpAgent =>
      this.#base.protocol === 'https:'
        ? new HttpsAgent({
            ...options,
            keepAliveMsecs: 15_000,
            timeout: 0,
            ...tlsOptions(this.#connection, certificate),
          })
        : new HttpAgent({ ...options, keepAliveMsecs: 15_000 });
    this.#agents = {
      certificate,
      kept: make({ keepAlive: true, maxSockets: 64 }),
      lasting: make({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY }),
    };
    return this.#agents;
  }

  [Symbol.dispose](): void {
    this.#agents?.kept.destroy();
    this.#agents?.lasting.destroy();
    this.#agents = undefined;
  }
}

/** Pooled connections that long-lived responses may take: few, so that enough are left for others. */
const mostTaken = 8;

/** Whether a long-lived response may take a pooled connection that nobody uses: a short command then needs one handshake less. */
function hasSpare({ freeSockets, sockets }: HttpAgent): boolean {
  const count = (lists: HttpAgent['sockets']): number => Object.values(lists).reduce((sum, list) => sum + (list?.length ?? 0), 0);
  return count(freeSockets) > 0 && count(sockets) < mostTaken;
}

/** Lets pending requests finish, and then keeps no connection. */
function retire({ kept }: Agents): void {
  kept.maxFreeSockets = 0;
  for (const sockets of Object.values(kept.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

function limitConnect(request: ClientRequest, limit: number, onLate: () => void): void {
  request.on('socket', (socket) => {
    if (!socket.connecting) return;
    // Lets the system, too, notice a peer that vanished silently.
    socket.setKeepAlive(true, 15_000);
    const timer = setTimeout(onLate, limit);
    const clear = (): void => clearTimeout(timer);
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', clear);
    socket.once('close', clear);
  });
}
