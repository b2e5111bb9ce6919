import type { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StatusError } from '@capstan/machinery';
import { answerTunnel, TunnelError, type TunnelRequest } from '@capstan/streams';
import type { RelayedArtifacts } from '../artifacts/relayed.ts';
import type { AuditLogReader, PageRequest } from '../audit/query/log-reader.ts';
import { PositionGone } from '../audit/query/scan.ts';
import type { NodeTunnels } from './node-tunnels.ts';

/** In responses of a server that has no tunnel to the node. Nodes cannot send it: it is removed from their responses. */
export const relayHeader = 'capstan-relay';
export const noTunnel = 'no-tunnel';

/** The path of a request to a node in a relay. */
export const relayedPath = (node: string, path: string): string => `/nodes/${node}${path}`;

/** Answers the requests of another API server through the tunnels of this one, and only of this one, so that no request goes in circles. */
export async function answerRelay(
  socket: Duplex,
  tunnels: Pick<NodeTunnels, 'here'>,
  { storedLog, artifacts, audit }: RelayedStores,
): Promise<void> {
  await answerTunnel(socket, {
    handle: (request) => {
      if (request.path.startsWith(logPrefix)) return sendStoredLog(request, storedLog);
      if (request.path.startsWith(artifactPrefix)) return answerArtifact(request, artifacts);
      if (request.path.startsWith(auditPrefix)) return sendAuditPage(request, audit);
      return relay(request, tunnels);
    },
  });
}

/** Files of this server that other API servers may read. */
export interface RelayedStores {
  readonly storedLog: StoredLog;
  readonly artifacts: RelayedArtifacts;
  readonly audit: Pick<AuditLogReader, 'page'>;
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

/** The path of a request for artifacts in a relay: `/artifacts/`, or `/artifacts/<sha256>?from=<byte>`. */
export const artifactPrefix = '/artifacts/';
/** The size of the whole artifact. */
export const sizeHeader = 'capstan-size';

async function answerArtifact(request: TunnelRequest, artifacts: RelayedArtifacts): Promise<void> {
  const { path, method } = request;
  const [sha256 = '', from = '0'] = path.slice(artifactPrefix.length).split('?from=');
  if (sha256 === '') return void request.respond(200, { 'content-type': 'application/json' }).end(JSON.stringify(await artifacts.list()));
  if (method === 'DELETE') return void request.respond((await artifacts.remove(sha256)) ? 204 : 404).end();
  const found = await artifacts.open(sha256, Number(from));
  if (found === undefined) return void request.respond(404).end();
  await pipeline(found.body, request.respond(200, { [sizeHeader]: String(found.size) })).catch(() => {});
}

/** The path of a request for events of the audit log in a relay, with a `PageRequest` as JSON. */
export const auditPrefix = '/audit/';

async function sendAuditPage(request: TunnelRequest, audit: Pick<AuditLogReader, 'page'>): Promise<void> {
  try {
    const page = await audit.page(JSON.parse(decodeURIComponent(request.path.slice(auditPrefix.length))) as PageRequest);
    request.respond(200, { 'content-type': 'application/json' }).end(JSON.stringify(page));
  } catch (error) {
    request.respond(error instanceof PositionGone ? 410 : error instanceof StatusError ? (error.status.code ?? 500) : 500).end();
  }
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
