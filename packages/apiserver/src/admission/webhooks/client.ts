import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { type ClusterId, rootCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { readBounded } from '../../http/bounded.ts';
import { networkFailure } from '../../http/network-failure.ts';
import type { Outbound } from '../../http/outbound.ts';
import { isStale } from '../../http/stale-connection.ts';
import { trusting } from '../../http/trust.ts';
import type { OrganizationOf } from '../../limits/line.ts';
import { Slots, type SlotsOptions } from '../../limits/slots.ts';
import { CallFailure } from './failure.ts';
import type { Endpoint } from './hook.ts';
import { addressOf } from './service.ts';

/** In bytes: a patch that replaces all of the largest object takes 4 MiB in base64. An answer is held and parsed in one piece, and there are many at once. */
const largestPatch = 5 << 20;
const idleConnections = 16;

export interface WebhookAnswer {
  readonly code: number;
  readonly type: string;
  readonly text: string;
}

export interface WebhookCall {
  readonly cluster: ClusterId;
  readonly endpoint: Endpoint;
  /** Makes the body, when the call has a slot: bodies of calls that wait would fill the memory. */
  readonly body: () => string;
  readonly timeoutSeconds: number;
  /** In bytes. By default, it has room for any patch. */
  readonly largestAnswer?: number;
}

interface Destination {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** The name that the certificate must have. */
  readonly serverName: string;
  readonly hostHeader: string;
  readonly authorities: string | undefined;
  /** Blocks connections to some addresses. */
  readonly outbound: Outbound | undefined;
}

interface Bounds {
  readonly signal: AbortSignal;
  readonly largestAnswer: number;
}

/** Enough for thousands of calls in a second. A call holds its body in memory. */
const usualSlots: SlotsOptions = { overall: 512, perTenant: 64 };

export interface WebhookClientOptions {
  /** Blocks some addresses for the webhooks of all workspaces but the root. */
  readonly outbound?: Outbound | undefined;
  /** How many calls are under way for the webhooks of all organizations, and of one. */
  readonly slots?: Partial<SlotsOptions> | undefined;
  /** By default, each workspace is its own organization. */
  readonly organizationOf?: OrganizationOf;
}

/** Posts to webhooks over kept-alive connections. Each call has a timeout, and each response a size limit. */
export class WebhookClient implements Disposable {
  readonly #objects: ObjectReader;
  readonly #outbound: Outbound | undefined;
  readonly #organizationOf: OrganizationOf;
  readonly #slots: Slots;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: idleConnections });
  /** Separate from the other agent, so that calls with blocked addresses never reuse a connection made without the check. */
  readonly #guarded = new Agent({ keepAlive: true, maxFreeSockets: idleConnections });

  constructor(objects: ObjectReader, { outbound, slots, organizationOf = (cluster) => cluster }: WebhookClientOptions = {}) {
    this.#objects = objects;
    this.#outbound = outbound;
    this.#organizationOf = organizationOf;
    this.#slots = new Slots({ ...usualSlots, ...slots });
  }

  async post(call: WebhookCall): Promise<WebhookAnswer> {
    const { timeoutSeconds, largestAnswer = largestPatch } = call;
    const query = `?timeout=${timeoutSeconds}s`;
    const { url, text } = named(call.endpoint);
    const signal = AbortSignal.timeout(timeoutSeconds * 1000);
    let isSent = false;
    try {
      return await this.#slots.within(this.#organizationOf(call.cluster), signal, () => {
        isSent = true;
        return this.#send(this.#destination(call, url, query), call.body(), { signal, largestAnswer });
      });
    } catch (error) {
      const late = isSent ? 'context deadline exceeded' : 'waited too long for other calls of webhooks of this organization';
      const why = signal.aborted ? late : networkFailure(error);
      throw new CallFailure(`failed to call webhook: Post ${JSON.stringify(text + query)}: ${why}`);
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
    this.#guarded.destroy();
  }

  #destination({ cluster, endpoint }: WebhookCall, url: URL, query: string): Destination {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const port = Number(url.port || 443);
    const outbound = cluster === rootCluster ? undefined : this.#outbound;
    const common = { host, port, path: url.pathname + query, serverName: host, authorities: endpoint.authorities, outbound };
    if (endpoint.by === 'url') return { ...common, hostHeader: url.host };
    return { ...common, ...addressOf(this.#objects, cluster, endpoint), hostHeader: `${host}:${port}` };
  }

  async #send(destination: Destination, body: string, bounds: Bounds): Promise<WebhookAnswer> {
    try {
      return await this.#once(destination, body, bounds);
    } catch (error) {
      // The webhook closed the idle connection, so it has not received the request.
      if (error instanceof StaleConnection) return await this.#send(destination, body, bounds);
      throw error;
    }
  }

  async #once(destination: Destination, body: string, { signal, largestAnswer }: Bounds): Promise<WebhookAnswer> {
    const { host, port, path, serverName, hostHeader, authorities, outbound } = destination;
    outbound?.check(host);
    return new Promise((resolve, reject) => {
      const outgoing = request({
        agent: outbound === undefined ? this.#agent : this.#guarded,
        ...(outbound && { lookup: outbound.lookup }),
        method: 'POST',
        host,
        port,
        path,
        signal,
        ...(authorities !== undefined && trusting(authorities)),
        // TLS does not allow an IP address as a server name; the certificate is still checked against it.
        servername: /^[\d.]+$|:/.test(serverName) ? '' : serverName,
        headers: {
          host: hostHeader,
          'content-type': 'application/json',
          accept: 'application/json, */*',
          'user-agent': 'kube-apiserver-admission',
          'content-length': Buffer.byteLength(body),
        },
      });
      outgoing.on('error', (error: NodeJS.ErrnoException) =>
        reject(!signal.aborted && isStale(outgoing, error) ? new StaleConnection() : error),
      );
      outgoing.on('response', (incoming) => {
        read(incoming, largestAnswer).then(resolve, reject);
      });
      outgoing.end(body);
    });
  }
}

class StaleConnection extends Error {}

async function read(incoming: IncomingMessage, largest: number): Promise<WebhookAnswer> {
  const body = await readBounded(incoming, largest);
  return { code: incoming.statusCode ?? 0, type: incoming.headers['content-type'] ?? '', text: body.toString() };
}

interface Named {
  readonly url: URL;
  /** As shown in messages. */
  readonly text: string;
}

/** The configured URL of a webhook; for a service, the URL with the name of the service, wherever it is. */
function named(endpoint: Endpoint): Named {
  if (endpoint.by === 'service') {
    const text = `https://${endpoint.name}.${endpoint.namespace}.svc:${endpoint.port}${plainPath(endpoint.path)}`;
    return { url: new URL(text), text };
  }
  const url = URL.parse(endpoint.url);
  if (url === null) throw new CallFailure(`could not get REST client: Unparsable URL: ${JSON.stringify(endpoint.url)}`);
  url.pathname = plainPath(url.pathname);
  return { url, text: `https://${url.host}${url.pathname}` };
}

/** Removes empty segments and the trailing slash, because webhooks expect the paths that Kubernetes requests. */
function plainPath(path: string): string {
  return path.endsWith('/') || path.includes('//') ? `/${path.split('/').filter(Boolean).join('/')}` : path || '/';
}
