import type { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { answerTunnel, TunnelError, type TunnelRequest } from '@capstan/streams';
import type { NodeTunnels } from './node-tunnels.ts';

/** In responses of a server that has no tunnel to the node. Nodes cannot send it: it is removed from their responses. */
export const relayHeader = 'capstan-relay';
export const noTunnel = 'no-tunnel';

/** The path of a request to a node in a relay. */
export const relayedPath = (node: string, path: string): string => `/nodes/${node}${path}`;

/** Answers the requests of another API server through the tunnels of this one, and only of this one, so that no request goes in circles. */
export async function answerRelay(socket: Duplex, tunnels: Pick<NodeTunnels, 'here'>, storedLog: StoredLog): Promise<void> {
  await answerTunnel(socket, {
    handle: (request) => (request.path.startsWith(logPrefix) ? sendStoredLog(request, storedLog) : relay(request, tunnels)),
  });
}

/** Output of units in the store of this server; undefined if it has none. */
export type StoredLog = (path: string, signal: AbortSignal) => Promise<Readable | undefined>;

/** The path of a request for output of units in a relay. */
export const logPrefix = '/logs/';

async function sendStoredLog(request: TunnelRequest, storedLog: StoredLog): Promise<void> {
  const body = await storedLog(request.path.slice(logPrefix.length), request.signal).catch(() => undefined);
  if (body === undefined) return void request.respond(404).end();
  const stream = request.respond(200, { 'content-type': 'text/plain' });
  await pipeline(body, stream).catch(() => {});
}

async function relay(request: TunnelRequest, tunnels: Pick<NodeTunnels, 'here'>): Promise<void> {
  const [, node = '', path = ''] = /^\/nodes\/([^/]+)(\/.*)?$/.exec(request.path) ?? [];
  const connection = tunnels.here(node);
  if (connection === undefined) return void request.respond(404, { [relayHeader]: noTunnel }).end();
  if (path === '') return void request.respond(204).end();
  try {
    const { method, headers, signal } = request;
    const answer = await connection.request({ method, path, headers, body: request.body, signal });
    const { [relayHeader]: _, ...others } = answer.headers;
    const stream = request.respond(answer.status, others);
    answer.stream.pipe(stream);
    // The other direction of this is the signal of the request.
    answer.stream.once('close', () => {
      if (!answer.stream.readableEnded) stream.destroy(new Error('the node broke off its response'));
      else if (stream.writableFinished) stream.destroy();
      else stream.once('finish', () => stream.destroy());
    });
  } catch (error) {
    if (!(error instanceof TunnelError)) throw error;
    request.respond(error.code === 'busy' ? 429 : 502, { 'content-type': 'text/plain' }).end(error.message);
  }
}
