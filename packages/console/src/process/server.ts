import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Metrics } from '@capstan/machinery';
import { type ConnectionLimits, limitConnections, listen, stopListening } from '@capstan/serving';
import { Refusal } from '../guard/refusal.ts';
import { commonHeaders, dataPolicy } from '../pages/policy.ts';
import { headOf } from '../relay/upgrade.ts';

export interface ListenOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly tls?: { readonly certificate: string; readonly key: string };
}

export interface ServerLimits {
  readonly connections: ConnectionLimits;
  /** In milliseconds: how long the headers of a request, and a whole request, may take to arrive. */
  readonly headersWithin: number;
  readonly requestWithin: number;
}

export const defaultServerLimits: ServerLimits = {
  connections: { perAddress: 512, overall: 10_000 },
  headersWithin: 10_000,
  requestWithin: 60_000,
};

export interface Handler {
  handle(incoming: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

export interface ConsoleServer extends AsyncDisposable {
  readonly port: number;
  /** For new connections. */
  replaceCertificate(tls: NonNullable<ListenOptions['tls']>): void;
}

/** In bytes: cookies of other programs on the same host come along. */
const largestHeaders = 32 * 1024;

/** Listens for requests, and bounds everything that a client can make it keep. */
export async function startServer(
  { host, port, tls }: ListenOptions,
  handler: Handler,
  { limits, metrics }: { readonly limits: ServerLimits; readonly metrics: Metrics },
): Promise<ConsoleServer> {
  const settings: ServerOptions = {
    maxHeaderSize: largestHeaders,
    headersTimeout: limits.headersWithin,
    requestTimeout: limits.requestWithin,
    connectionsCheckingInterval: Math.min(1_000, limits.headersWithin),
    keepAliveTimeout: 75_000,
  };
  const handle = (incoming: IncomingMessage, response: ServerResponse): void => void handler.handle(incoming, response);
  const tlsServer =
    tls && createTlsServer({ ...settings, cert: tls.certificate, key: tls.key, handshakeTimeout: limits.headersWithin }, handle);
  const server = tlsServer ?? createServer(settings, handle);
  const openConnections = limitConnections(server, limits.connections);
  // Node limits the time of requests, but not of connections without any.
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => socket.setTimeout(2 * limits.headersWithin));
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Until somebody else listens.
    socket.on('error', () => {});
    if (socket instanceof Socket) {
      socket.setTimeout(0);
      // Lets the system notice a browser that vanished, such as that of a closed laptop.
      socket.setKeepAlive(true, 30_000);
    }
    void handler.upgrade(incoming, socket, head);
  });
  server.on('clientError', refuseMalformed);
  metrics.gauge('capstan_console_connections', 'Open connections.', { read: openConnections });
  const bound = await listen(server, { host, port });
  return {
    port: bound,
    replaceCertificate: ({ certificate, key }) => tlsServer?.setSecureContext({ cert: certificate, key }),
    [Symbol.asyncDispose]: () => stopListening(server),
  };
}

/** Answers with a refusal, once. */
export function sendRefusal(incoming: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  // The client is gone, or an answer began.
  if (response.destroyed || response.headersSent) {
    response.destroy();
    return;
  }
  // The rest of a body that nobody reads would be taken for the next request.
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = incoming.headers;
  const isUnread = !incoming.complete && (length !== '0' || encoding !== undefined);
  const retry = refusal.code === 'unavailable' || refusal.code === 'too_many';
  sendJson(response, refusal.status, {
    body: refusal.body,
    headers: { ...(retry && { 'retry-after': '1' }), ...(isUnread && { connection: 'close' }) },
  });
}

export function sendJson(
  response: ServerResponse,
  status: number,
  { body, headers }: { readonly body: string; readonly headers?: Readonly<Record<string, string>> },
): void {
  response
    .writeHead(status, {
      ...commonHeaders,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      'content-security-policy': dataPolicy,
      ...headers,
    })
    .end(body);
}

/** The same on a connection that wanted to change protocols. */
export function refuseUpgrade(socket: Duplex, { status, body }: Refusal): void {
  if (!socket.writable) return;
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), connection: 'close' };
  socket.end(headOf(status, headers) + body);
  if (socket instanceof Socket) socket.setTimeout(1_000, () => socket.destroy());
}

/** Bytes that are no request get an answer too, and the connection ends. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: unknown): void {
  if (!(socket instanceof Socket)) return;
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const code =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'bad_request';
  refuseUpgrade(socket, new Refusal(code, 'The request is not valid HTTP, too large, or did not arrive in time.'));
}
