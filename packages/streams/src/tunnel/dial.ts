import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { TunnelError } from './error.ts';
import { tunnelPath, tunnelProtocol } from './protocol.ts';

export interface DialOptions {
  /** The URL of the API server. */
  readonly url: string;
  /** The authority of the server, and the client's certificate and key. */
  readonly tls: ConnectionOptions;
  readonly signal: AbortSignal;
  /** `tunnelPath` and `tunnelProtocol` if absent. */
  readonly path?: string;
  readonly protocol?: string;
  /** How long the server may take to answer, in milliseconds. */
  readonly timeout?: number;
}

/** Connects to an API server and asks it for a tunnel. Resolves with the connection, on which the server is about to send requests. */
export function dialTunnel({
  url,
  tls,
  signal,
  path = tunnelPath,
  protocol = tunnelProtocol,
  timeout = 15_000,
}: DialOptions): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const outgoing = request(new URL(path, url), {
    ...tls,
    method: 'POST',
    agent: false,
    headers: { connection: 'Upgrade', upgrade: protocol, 'content-length': '0' },
  });
  // Not by the request's own signal and timeout: those would end the connection too, which outlives the request.
  const giveUp = (): void => void outgoing.destroy(new Error(`no answer within ${timeout} ms`));
  const timer = setTimeout(giveUp, timeout);
  const abort = (): void => void outgoing.destroy();
  signal.addEventListener('abort', abort, { once: true });
  outgoing.once('upgrade', (_answer, socket, head) => {
    if (head.length > 0) socket.unshift(head);
    resolve(socket);
  });
  outgoing.once('response', ({ statusCode = 0 }) => {
    reject(new TunnelError('refused', `expected ${url} to open a tunnel, found status ${statusCode}`, { status: statusCode }));
    outgoing.destroy();
  });
  outgoing.on('error', (error) => {
    reject(signal.aborted ? signal.reason : new TunnelError('unreachable', `no tunnel to ${url}: ${error.message}`, { cause: error }));
  });
  if (signal.aborted) abort();
  outgoing.end();
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  });
}
