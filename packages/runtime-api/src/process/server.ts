import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Socket } from 'node:net';
import { type ProblemCode, restPath } from '@capstan/api';
import type { Transport } from '@capstan/client';
import type { Metrics } from '@capstan/machinery';
import {
  type ConnectionLimits,
  limitConnections,
  listen,
  readBody,
  stopListening,
  Upstream,
  type UpstreamHealth,
  writePatiently,
} from '@capstan/serving';
import { parseObject } from '../http/body.ts';
import { checkName } from '../http/parameters.ts';
import { type StreamLimits, Streams } from '../http/streams.ts';
import { type RunningRequest, type Share, Traffic, type TrafficLimits } from '../http/traffic.ts';
import { parseAddress } from '../http/url.ts';
import { Problem, problemOf, problemType, unauthenticated } from '../problems/problem.ts';
import { aboutRoutes } from '../routes/about.ts';
import type { Call, Reply } from '../routes/call.ts';
import { Router } from '../routes/match.ts';
import type { Route } from '../routes/route.ts';
import { productRoutes } from '../routes/table.ts';
import { RequestMetrics } from './metrics.ts';

export interface RestLimits {
  readonly connections: ConnectionLimits;
  readonly streams: StreamLimits;
  readonly traffic: TrafficLimits;
  /** In bytes. */
  readonly body: number;
  /** In milliseconds: how long the headers of a request, and a whole request, may take to arrive. */
  readonly headersWithin: number;
  readonly requestWithin: number;
}

export const defaultLimits: RestLimits = {
  connections: { perAddress: 512, overall: 10_000 },
  streams: { perUser: 32, overall: 5_000, heartbeat: 15_000, patience: 30_000 },
  traffic: { requests: 1_024, requestsPerToken: 256, bytes: 256 << 20, bytesPerToken: 64 << 20 },
  body: 1024 * 1024,
  headersWithin: 10_000,
  requestWithin: 30_000,
};

export interface RestServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly tls?: { readonly certificate: string; readonly key: string };
  /** To the API server, without credentials. */
  readonly transport: Transport;
  readonly health: UpstreamHealth;
  readonly metrics: Metrics;
  readonly log: (line: string) => void;
  readonly limits?: Partial<RestLimits>;
}

export interface RestServer extends AsyncDisposable {
  readonly port: number;
}

/** In bytes: a token with many groups is large. */
const largestHeaders = 64 * 1024;

/** Serves the REST API. */
export async function startRestServer(options: RestServerOptions): Promise<RestServer> {
  const limits = { ...defaultLimits, ...options.limits };
  const streams = new Streams(limits.streams);
  const routes = [...productRoutes, ...aboutRoutes(productRoutes, options.health)];
  const frontDesk = new FrontDesk(new Router(routes), { ...options, limits, streams });
  const settings: ServerOptions = {
    maxHeaderSize: largestHeaders,
    headersTimeout: limits.headersWithin,
    requestTimeout: limits.requestWithin,
    connectionsCheckingInterval: Math.min(1_000, limits.headersWithin),
    keepAliveTimeout: 75_000,
  };
  const handle = (incoming: IncomingMessage, response: ServerResponse): void => void frontDesk.handle(incoming, response);
  const { tls } = options;
  const server =
    tls === undefined
      ? createServer(settings, handle)
      : createTlsServer({ ...settings, cert: tls.certificate, key: tls.key, handshakeTimeout: limits.headersWithin }, handle);
  const openConnections = limitConnections(server, limits.connections);
  // Node limits the time of requests, but not of connections without any.
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => socket.setTimeout(2 * limits.headersWithin));
  server.on('clientError', refuseMalformed);
  options.metrics.gauge('capstan_rest_streams', 'Open streams.', { read: () => streams.count });
  options.metrics.gauge('capstan_rest_connections', 'Open connections.', { read: openConnections });
  const port = await listen(server, options);
  return {
    port,
    async [Symbol.asyncDispose]() {
      streams.end();
      await stopListening(server);
    },
  };
}

type Facts = Pick<Call, 'incoming' | 'response' | 'workspace' | 'query' | 'parameters'>;

interface Desk extends RestServerOptions {
  readonly limits: RestLimits;
  readonly streams: Streams;
}

/** Takes each request to its route, and turns every error into a problem. */
class FrontDesk {
  readonly #router: Router;
  readonly #options: Desk;
  readonly #traffic: Traffic;
  readonly #requests = new WeakMap<ServerResponse, RunningRequest>();
  readonly #metrics: RequestMetrics;

  constructor(router: Router, options: Desk) {
    this.#router = router;
    this.#options = options;
    this.#traffic = new Traffic(options.limits.traffic);
    options.streams.onBegin = (response) => this.#requests.get(response)?.leave();
    options.metrics.gauge('capstan_rest_requests', 'Requests that run.', { read: () => this.#traffic.running });
    options.metrics.gauge('capstan_rest_held_bytes', 'Bytes of requests and responses in memory.', { read: () => this.#traffic.held });
    this.#metrics = new RequestMetrics(options.metrics);
  }

  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const began = performance.now();
    let operation = 'none';
    // Until its first request, a connection had a time limit.
    incoming.socket.setTimeout(0);
    try {
      const { route, ...found } = this.#find(incoming);
      operation = route.operationId;
      await this.#serve(route, { incoming, response, ...found });
    } catch (error) {
      this.#refuse(error, incoming, response);
    }
    this.#metrics.add(operation, { code: response.statusCode, seconds: (performance.now() - began) / 1000 });
  }

  async #serve(route: Route, facts: Facts): Promise<void> {
    const { incoming, response } = facts;
    const authorization = route.isPublic === true ? '' : tokenOf(incoming);
    const body = this.#traffic.share(incoming.socket.remoteAddress ?? '');
    const share = this.#traffic.begin(authorization);
    this.#requests.set(response, share);
    // A response counts until it is read.
    response.once('close', () => {
      body[Symbol.dispose]();
      share[Symbol.dispose]();
    });
    const reply = await route.handler(this.#call(facts, { authorization, body, share }));
    if (reply !== 'sent') await send(response, reply, this.#options.limits.streams);
  }

  #find({ method = '', url = '' }: IncomingMessage) {
    const address = parseAddress(url);
    const found = address && this.#router.find(method, address.segments);
    if (address === undefined || found === undefined)
      throw new Problem('route_not_found', `Nothing is served at this path. ${restPath}/docs lists all paths.`);
    if (!('route' in found)) {
      const allow = found.allowed.join(', ');
      throw new Problem('method_not_allowed', `Expected one of the methods ${allow}.`, { headers: { allow } });
    }
    if (found.parameters['id'] !== undefined) checkName(found.parameters['id']);
    return { ...found, workspace: address.workspace, query: address.query };
  }

  #call(facts: Facts, { authorization, body, share }: { authorization: string; body: Share; share: Share }): Call {
    const { streams, limits, transport } = this.#options;
    const { incoming } = facts;
    return {
      ...facts,
      authorization,
      upstream: new Upstream(transport, share),
      streams,
      async body() {
        checkType(incoming);
        return parseObject(await readBody(incoming, limits.body, body));
      },
    };
  }

  #refuse(error: unknown, incoming: IncomingMessage, response: ServerResponse): void {
    // The client is gone, or a stream ended.
    if (response.destroyed || response.headersSent) {
      response.destroy();
      return;
    }
    const problem = problemOf(error);
    const requestId = randomUUID();
    if (problem.code === 'internal') {
      const path = (incoming.url ?? '').split('?')[0]!.slice(0, 200);
      this.#options.log(
        `request ${requestId} failed: ${incoming.method} ${JSON.stringify(path)}: ${error instanceof Error ? error.stack : String(error)}`,
      );
    }
    // The rest of a body that nobody reads would be taken for the next request.
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = incoming.headers;
    const isUnread = !incoming.complete && (length !== '0' || encoding !== undefined);
    const headers = { 'content-type': problemType, ...problem.details.headers, ...(isUnread && { connection: 'close' }) };
    void send(response, { status: problem.status, body: problem.body(requestId), headers }, this.#options.limits.streams);
  }
}

const longestToken = 32 * 1024;

function tokenOf({ headers: { authorization } }: IncomingMessage): string {
  if (authorization === undefined) throw unauthenticated('The request has no token');
  const found = /^bearer ([\x21-\x7e]+)$/i.exec(authorization);
  if (found === null || authorization.length > longestToken) throw unauthenticated('The header Authorization has no bearer token');
  return `Bearer ${found[1]}`;
}

function checkType({ headers }: IncomingMessage): void {
  const type = (headers['content-type'] ?? 'application/json').split(';')[0]!.trim().toLowerCase();
  if (type === 'application/json' || type === 'application/merge-patch+json') return;
  throw new Problem('unsupported_media_type', 'Expected a body of the type application/json.');
}

/** Longer responses are written in pieces, each of which the client has to accept in time. */
const pieceLength = 64 * 1024;

async function send(response: ServerResponse, reply: Exclude<Reply, 'sent'>, limits: StreamLimits): Promise<void> {
  const { status, body, headers } = reply;
  if (body === undefined) {
    response.writeHead(status, headers).end();
    return;
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  if (text.length <= pieceLength) return void response.end(text);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length && !response.destroyed; at += pieceLength)
    await writePatiently(response, bytes.subarray(at, at + pieceLength), limits.patience);
  response.end();
}

/** Bytes that are no request get an answer too, and the connection ends. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: unknown): void {
  if (!(socket instanceof Socket) || !socket.writable || error.code === 'ECONNRESET') {
    if (socket instanceof Socket) socket.destroy();
    return;
  }
  const codes: Readonly<Record<string, ProblemCode>> = {
    HPE_HEADER_OVERFLOW: 'headers_too_large',
    ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  };
  const problem = new Problem(
    codes[error.code ?? ''] ?? 'invalid_request',
    'The request is not valid HTTP, too large, or did not arrive in time.',
  );
  const text = JSON.stringify(problem.body(randomUUID()));
  const head = `HTTP/1.1 ${problem.status} Refused\r\ncontent-type: ${problemType}\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n`;
  // A peer that does not close its side is not waited for.
  socket.setTimeout(1_000, () => socket.destroy());
  socket.end(head + text);
}
