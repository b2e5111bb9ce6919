import { auditPath, rootCluster, usagePath } from '@capstan/api';
import { status } from '@capstan/machinery';
import { type Document, discoveryOf } from '../discovery/discovery.ts';
import { negotiateDocument } from '../discovery/negotiate.ts';
import { discoveryInProtobuf } from '../discovery/protobuf.ts';
import { isKnown } from '../http/entity-tag.ts';
import type { Exchange } from '../http/exchange.ts';
import { requireOffered } from '../http/negotiate.ts';
import { protobufType } from '../http/protobuf.ts';
import { reply, wantsPretty, yamlOf } from '../http/reply.ts';
import type { Catalogs } from '../registry/catalogs.ts';
import { catalogFor } from '../registry/catalogs.ts';
import type { Page } from '../registry/page.ts';
import type { RequestInfo } from '../registry/scope.ts';
import type { Health } from './health.ts';

export interface PagesOptions {
  readonly catalogs: Catalogs;
  readonly health: Health;
  readonly version: object;
  readonly serverAddress: string;
  /** Pages provided by other parts: metrics, OpenAPI, service account keys. */
  readonly more: ReadonlyMap<string, Page>;
}

const fixedPaths = [
  '/apis/',
  '/healthz',
  '/livez',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/',
  '/readyz',
  '/version',
  '/metrics',
  '/metrics/slis',
  '/.well-known/openid-configuration',
  '/openid/v1/jwks',
];

export class Pages {
  readonly #options: PagesOptions;

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** Responds, or throws the error for a path that is not served. */
  handle(exchange: Exchange, info: RequestInfo): void | Promise<void> {
    const { catalogs, health, version, more } = this.#options;
    const path = info.path.length > 1 && info.path.endsWith('/') ? info.path.slice(0, -1) : info.path;
    if (info.apiPrefix !== '') return this.#discover(exchange, info, path);
    if (path === '/' || path === '') return sendJson(exchange, info, discoveryOf(catalogFor({ catalogs }, info)).paths(fixedPaths).body);
    if (path === '/version' && info.method !== 'GET') throw status.methodNotAllowed();
    if (path === '/version') requireOffered(exchange.headers.accept, ['application/json']);
    // Always indented, for people.
    if (path === '/version') return exchange.send({ code: 200, type: 'application/json', body: JSON.stringify(version, undefined, 2) });
    const check = /^\/(livez|readyz|healthz)(?:\/(.+))?$/.exec(path);
    if (check !== null)
      return health.answer(exchange, {
        endpoint: check[1]!,
        check: check[2],
        verbose: info.query.get('verbose') !== null,
        exclude: info.query.getAll('exclude'),
      });
    // Pages about the whole server are only served to users with permission in the root workspace: in other workspaces and in
    // their views, tenants decide who has permission.
    if (isAboutServer(path) && !isServedIn(info, path)) return notFoundPage(exchange);
    const page = more.get(path) ?? pageAbove(more, path);
    if (page !== undefined) return page(exchange, info);
    notFoundPage(exchange);
  }

  #discover(exchange: Exchange, info: RequestInfo, path: string): void {
    const { catalogs, serverAddress } = this.#options;
    const catalog = catalogFor({ catalogs }, info);
    const discovery = discoveryOf(catalog);
    const prefix = info.apiPrefix as 'api' | 'apis';
    const [, , first = '', second] = path.split('/');
    // Groups have a handler of their own in Kubernetes, which accepts any method and matches media type ranges.
    const isPlainPath = prefix === 'api' || second !== undefined;
    if (isPlainPath && info.method !== 'GET') throw status.methodNotAllowed();
    if (path === `/${prefix}`) {
      if (isPlainPath) requireOffered(exchange.headers.accept);
      // kcp's views have no aggregated discovery: its clients rely on the fallback.
      const { aggregated } = negotiateDocument(exchange.headers.accept, info.place.kind !== 'view');
      if (aggregated !== undefined) return sendAggregated(exchange, discovery.aggregated(prefix, aggregated));
      return sendDocument(exchange, info, prefix === 'api' ? discovery.coreVersions(serverAddress) : discovery.groupList());
    }
    if (prefix === 'api') {
      const list = discovery.resourceList('', first);
      if (list === undefined) throw status.noSuchResource();
      requireOffered(exchange.headers.accept);
      return sendDocument(exchange, info, list);
    }
    const group = discovery.group(first);
    if (group === undefined) return notFoundPage(exchange);
    if (second === undefined) return sendDocument(exchange, info, group);
    const list = discovery.resourceList(first, second);
    if (list === undefined) {
      if (!catalog.isBuiltin(first)) return notFoundPage(exchange);
      throw status.noSuchResource();
    }
    requireOffered(exchange.headers.accept);
    sendDocument(exchange, info, list);
  }
}

function isAboutServer(path: string): boolean {
  return path === '/metrics' || path === '/metrics/slis' || path.startsWith('/capstan/');
}

/** A workspace has only its own audit events and its own usage, and its rules decide who reads them. */
function isServedIn({ cluster, place }: RequestInfo, path: string): boolean {
  return place.kind !== 'view' && (cluster === rootCluster || path === auditPath || path === usagePath);
}

/** The page that serves everything below a path. */
function pageAbove(pages: ReadonlyMap<string, Page>, path: string): Page | undefined {
  for (const [prefix, page] of pages) if (prefix.endsWith('/') && path.startsWith(prefix)) return page;
  return undefined;
}

function notFoundPage(exchange: Exchange): void {
  exchange.header('X-Content-Type-Options', 'nosniff');
  exchange.send({ code: 404, type: 'text/plain; charset=utf-8', body: '404 page not found\n' });
}

export function sendJson(exchange: Exchange, info: RequestInfo, body: string): void {
  const text = wantsPretty(exchange, info.query.get('pretty')) ? `${JSON.stringify(JSON.parse(body), null, 2)}\n` : body;
  exchange.send({ code: 200, type: 'application/json', body: text });
}

function sendDocument(exchange: Exchange, info: RequestInfo, { body }: Document): void {
  const { format } = negotiateDocument(exchange.headers.accept, false);
  if (format === 'protobuf') return exchange.send({ code: 200, type: protobufType, body: discoveryInProtobuf(body) });
  reply(exchange, { code: 200, body, format, pretty: wantsPretty(exchange, info.query.get('pretty')) });
}

/** The aggregated document is large: clients send the ETag of theirs. */
function sendAggregated(exchange: Exchange, { body, etag }: Document): void {
  const { format, aggregated } = negotiateDocument(exchange.headers.accept, true);
  const type = `${format === 'protobuf' ? protobufType : `application/${format}`};g=apidiscovery.k8s.io;v=${aggregated};as=APIGroupDiscoveryList`;
  exchange.header('Vary', 'Accept');
  exchange.header('Cache-Control', 'public');
  // Each format has its own ETag.
  if (isKnown(exchange, format === 'json' ? etag : `${etag.slice(0, -1)}-${format}"`)) return;
  if (format === 'protobuf') return exchange.send({ code: 200, type, body: discoveryInProtobuf(body) });
  exchange.send({ code: 200, type, body: format === 'yaml' ? yamlOf(body) : body });
}
