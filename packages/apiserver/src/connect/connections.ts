import { type KubeObject, status } from '@capstan/machinery';
import { clientAuthorities, type Pki } from '@capstan/pki';
import type { WatchCache } from '../cache/watch-cache.ts';
import { negotiateDocument } from '../discovery/negotiate.ts';
import type { Exchange } from '../http/exchange.ts';
import { accepted, requireOffered } from '../http/negotiate.ts';
import type { Sockets } from '../http/sockets.ts';
import type { Admission } from '../registry/admission.ts';
import type { RequestContext } from '../registry/context.ts';
import { fresh } from '../registry/list.ts';
import type { Resource } from '../registry/resource.ts';
import { admitConnection } from './admission.ts';
import { Arrivals } from './arrivals.ts';
import { serveCommand } from './command.ts';
import { containerOf } from './container.ts';
import type { Dialled } from './dialled.ts';
import { awaitsStart } from './log.ts';
import { checkLogOptions } from './log-options.ts';
import { Logs } from './logs.ts';
import { type NodeSubresource, serveNodeSubresource } from './node-subresource.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';
import type { OwnSubresource } from './own-subresource.ts';
import { servePortForward } from './port-forward.ts';
import { ReverseProxy } from './proxy.ts';
import type { StoredLogs } from './stored-logs.ts';
import { findObject, type NodeTarget, placeOfContainer, type Reach, reachNode } from './target.ts';

export interface ConnectionsOptions extends Reach {
  readonly cache: WatchCache;
  readonly admission: Admission;
  readonly streams: OpenStreams;
  readonly dialled: Dialled;
  /** Output of pods whose node cannot be asked. */
  readonly storedLogs?: StoredLogs | undefined;
  /** Subresources of our own kinds that nodes serve. */
  readonly nodeSubresources?: readonly NodeSubresource[];
  /** Others of our own kinds. */
  readonly ownSubresources?: readonly OwnSubresource[];
}

/** Subresources of Kubernetes' kinds that need a node. */
const builtin = new Set(['log', 'exec', 'attach', 'portforward', 'proxy']);
/** Subresources that give a client power over a pod. A WebSocket can be opened only with GET, so the verb alone does not show that. */
const powerful = new Set(['exec', 'attach', 'portforward']);

/** Serves subresources that lead to a node: logs, commands, port-forwards and proxies. */
export class Connections implements Disposable {
  readonly #options: ConnectionsOptions;
  readonly #proxy: ReverseProxy;
  readonly #logs: Logs;
  readonly #arrivals: Arrivals;
  readonly #own: ReadonlyMap<string, OwnSubresource>;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#proxy = new ReverseProxy(options);
    this.#logs = new Logs(options);
    this.#arrivals = new Arrivals(options.cache);
    const { tunnels, nodeSubresources = [], ownSubresources = [] } = options;
    const ofNodes = nodeSubresources.map(
      (entry): OwnSubresource => ({ ...entry, serve: (request) => serveNodeSubresource(tunnels, entry, request) }),
    );
    this.#own = new Map([...ofNodes, ...ownSubresources].map((entry) => [keyOf(entry, entry.subresource), entry]));
  }

  get open(): number {
    return this.#options.streams.count;
  }

  /** Of clients and of streams. */
  get sockets(): Sockets {
    return this.#options.dialled.sockets;
  }

  /** New certificates, with which kubelets are called and checked from now on. */
  readonly renew = (pki: Pki): void => {
    this.#options.kubelets.replaceCredentials({ client: pki.kubeletClient, authorities: clientAuthorities(pki) });
  };

  /** The server stops: tells all clients, and ends their streams. */
  end(): void {
    this.#options.streams[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#proxy[Symbol.dispose]();
  }

  /** Whether requests for a subresource are streams. */
  has(resource: { readonly group: string; readonly resource: string }, subresource: string): boolean {
    if (resource.group === '') return builtin.has(subresource);
    return this.#own.size > 0 && this.#own.has(keyOf(resource, subresource));
  }

  /** Resolves when the stream is over. */
  async handle(exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
    const { subresource, name, query, verb } = context.info;
    if (subresource === 'log' && resource.group === '') {
      requireOffered(exchange.headers.accept, ['text/plain', ...accepted]);
      negotiateDocument(exchange.headers.accept, false);
      checkLogOptions(name, query);
    }
    const isPowerful = resource.group === '' ? powerful.has(subresource) : this.#own.get(keyOf(resource, subresource))?.isPowerful === true;
    if (verb === 'get' && isPowerful) await context.permit?.('create');
    await admitConnection(this.#options.admission, context, resource);
    await fresh(this.#options.cache);
    await this.#options.streams.serve(exchange, (stream) => this.#serve(stream, context, resource));
  }

  async #serve(stream: OpenStream, context: RequestContext, resource: Resource): Promise<void> {
    const { subresource, name, namespace, query } = context.info;
    const own = resource.group === '' ? undefined : this.#own.get(keyOf(resource, subresource));
    if (own === undefined && subresource === 'proxy') return this.#proxy.serve(stream, context, resource);
    // Objects of a bound kind are stored under the name of its export.
    const find = (): KubeObject | undefined => findObject(context, { ...resource.storage, namespaced: resource.namespaced }, name);
    let object = find();
    if (object === undefined && resource.group === '' && subresource === 'log' && awaitsStart(query)) {
      await this.#arrivals.wait({ cluster: context.cluster, namespace, name }, stream.signal);
      object = find();
    }
    if (object === undefined && own?.serveMissing !== undefined) return own.serveMissing({ stream, context, resource });
    if (object === undefined) throw status.notFound(resource, name);
    if (own !== undefined) return own.serve({ stream, context, object, resource });
    await this.#servePod(stream, context, { pod: object, resource, find });
  }

  async #servePod(
    stream: OpenStream,
    context: RequestContext,
    { pod, resource, find }: { pod: KubeObject; resource: Resource; find: () => KubeObject | undefined },
  ): Promise<void> {
    const { subresource, name, query } = context.info;
    const { kubelets } = this.#options;
    const asked = subresource === 'portforward' ? '' : containerOf(pod, query.get('container') ?? '');
    const { node, container } = placeOfContainer(pod, asked);
    // A pod without a node has not logged anything yet.
    if (node === '' && subresource === 'log') return stream.exchange.send({ code: 204, type: '', body: '' });
    if (node === '') throw status.badRequest(`pod ${name} does not have a host assigned`);
    const reach = (): Promise<NodeTarget> => this.#reach(stream, context, { name: node, resource });
    if (subresource === 'log') return this.#logs.serve(stream, context, { find, pod, node, container, reach });
    const target = await reach();
    if (subresource === 'portforward') return servePortForward(kubelets, { stream, context, pod, target });
    return serveCommand(kubelets, { stream, context, pod, container, target });
  }

  async #reach(stream: OpenStream, context: RequestContext, node: { name: string; resource: Resource }): Promise<NodeTarget> {
    const target = await reachNode(this.#options, context, node);
    if (target.kind === 'kubelet') this.#options.dialled.open(stream, context.user);
    return target;
  }
}

const keyOf = ({ group, resource }: { readonly group: string; readonly resource: string }, subresource: string): string =>
  `${group}/${resource}/${subresource}`;
