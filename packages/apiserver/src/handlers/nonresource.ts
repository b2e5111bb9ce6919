import { status } from '@capstan/machinery';
import { type Document, discoveryOf } from '../discovery/discovery.ts';
import type { Exchange } from '../http/exchange.ts';
import { wantsPretty } from '../http/reply.ts';
import type { Catalogs } from '../registry/catalogs.ts';
import type { RequestInfo } from '../request/info.ts';
import type { Health } from '../server/health.ts';
import { rootCluster } from '../workspaces/names.ts';
import { catalogFor } from './serving.ts';

/** What is served beside resources. Each entry answers one path and, if it ends in a slash, all below it. */
export type Page = (exchange: Exchange, info: RequestInfo) => void | Promise<void>;

export interface PagesOptions {
  readonly catalogs: Catalogs;
  readonly health: Health;
  readonly version: object;
  readonly serverAddress: string;
  /** Pages that other parts bring: metrics, OpenAPI, keys of service accounts. */
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
  '/.well-known/openid-configuration',
  '/openid/v1/jwks',
];

export class Pages {
  readonly #options: PagesOptions;

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** Answers, or throws what a path that is not served gets. */
  handle(exchange: Exchange, info: RequestInfo): void | Promise<void> {
    const { catalogs, health, version, more } = this.#options;
    const path = info.path.length > 1 && info.path.endsWith('/') ? info.path.slice(0, -1) : info.path;
    if (info.apiPrefix !== '') return this.#discover(exchange, info, path);
    if (path === '/' || path === '') return sendDocument(exchange, info, discoveryOf(catalogFor({ catalogs }, info)).paths(fixedPaths));
    if (path === '/version' && info.method !== 'GET' && info.method !== 'HEAD') throw status.methodNotAllowed();
    // People read it, whoever asks.
    if (path === '/version') return exchange.send({ code: 200, type: 'application/json', body: JSON.stringify(version, undefined, 2) });
    const check = /^\/(livez|readyz|healthz)(?:\/(.+))?$/.exec(path);
    if (check !== null)
      return health.answer(exchange, {
        endpoint: check[1]!,
        check: check[2],
        verbose: info.query.get('verbose') !== null,
        exclude: info.query.getAll('exclude'),
      });
    // What is about the whole server is only there for those whom the root workspace permits it: elsewhere tenants say what is permitted.
    if (info.cluster !== rootCluster && isAboutServer(path)) return notFoundPage(exchange);
    const page = more.get(path) ?? pageAbove(more, path);
    if (page !== undefined) return page(exchange, info);
    notFoundPage(exchange);
  }

  #discover(exchange: Exchange, info: RequestInfo, path: string): void {
    const { catalogs, serverAddress } = this.#options;
    const catalog = catalogFor({ catalogs }, info);
    const discovery = discoveryOf(catalog);
    if (info.method !== 'GET' && info.method !== 'HEAD') throw status.methodNotAllowed();
    const prefix = info.apiPrefix as 'api' | 'apis';
    if (path === `/${prefix}`) {
      // kcp's views have none: its clients count on what else there is.
      const aggregated = info.place.kind === 'view' ? undefined : aggregatedVersion(exchange.headers.accept);
      if (aggregated !== undefined) return sendDocument(exchange, info, discovery.aggregated(prefix, aggregated));
      return sendDocument(exchange, info, prefix === 'api' ? discovery.coreVersions(serverAddress) : discovery.groupList());
    }
    const [, , first = '', second] = path.split('/');
    if (prefix === 'api') {
      const list = discovery.resourceList('', first);
      if (list === undefined) throw status.noSuchResource();
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
    sendDocument(exchange, info, list);
  }
}

function isAboutServer(path: string): boolean {
  return path === '/metrics' || path.startsWith('/capstan/');
}

/** The page that answers for everything below it. */
function pageAbove(pages: ReadonlyMap<string, Page>, path: string): Page | undefined {
  for (const [prefix, page] of pages) if (prefix.endsWith('/') && path.startsWith(prefix)) return page;
  return undefined;
}

export function notFoundPage(exchange: Exchange): void {
  exchange.header('X-Content-Type-Options', 'nosniff');
  exchange.send({ code: 404, type: 'text/plain; charset=utf-8', body: '404 page not found\n' });
}

export function sendJson(exchange: Exchange, info: RequestInfo, body: string): void {
  const text = wantsPretty(exchange, info.query.get('pretty')) ? `${JSON.stringify(JSON.parse(body), null, 2)}\n` : body;
  exchange.send({ code: 200, type: 'application/json', body: text });
}

function sendDocument(exchange: Exchange, info: RequestInfo, document: Document): void {
  const aggregated = document.type !== 'application/json';
  if (!aggregated) return sendJson(exchange, info, document.body);
  exchange.header('Vary', 'Accept');
  exchange.header('ETag', document.etag);
  if (exchange.headers['if-none-match'] === document.etag) return exchange.send({ code: 304, type: document.type, body: '' });
  exchange.send({ code: 200, type: document.type, body: document.body });
}

/** The first form of aggregated discovery that the client names and we know, if it comes before plain JSON. */
function aggregatedVersion(accept: string | undefined): 'v2' | 'v2beta1' | undefined {
  for (const clause of (accept ?? '').split(',')) {
    const parts = clause.split(';').map((part) => part.trim());
    if (!['application/json', '*/*'].includes(parts[0] ?? '')) continue;
    if (!parts.includes('as=APIGroupDiscoveryList')) return undefined;
    if (!parts.includes('g=apidiscovery.k8s.io')) continue;
    if (parts.includes('v=v2')) return 'v2';
    if (parts.includes('v=v2beta1')) return 'v2beta1';
  }
  return undefined;
}
