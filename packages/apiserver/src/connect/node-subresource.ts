import type { ClusterId } from '@capstan/api';
import { type KubeObject, status } from '@capstan/machinery';
import type { RequestContext } from '../registry/context.ts';
import type { OpenStream } from './open-streams.ts';
import { relayBody, tunnelRefusal } from './relay.ts';
import { askNode } from './tunnel-request.ts';
import type { Tunnels } from './tunnels.ts';

/** A subresource of a kind of our own that a node serves, such as the metrics of a machine. */
export interface NodeSubresource {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** HTTP methods that the node accepts. */
  readonly methods: readonly string[];
  /**
   * The node and the path below `/node` on it; undefined if the object has none. Anybody can define a kind with this name in a workspace of
   * their own, so it must return undefined for objects of workspaces that have no say over the node.
   */
  readonly target: (object: KubeObject, cluster: ClusterId) => { readonly node: string; readonly path: string } | undefined;
}

/** Passes a request on to the node of an object, and its response back. */
export async function serveNodeSubresource(
  tunnels: Tunnels,
  { resource, methods, subresource, target }: NodeSubresource,
  { stream, context, object }: { stream: OpenStream; context: RequestContext; object: KubeObject },
): Promise<void> {
  const { exchange, signal } = stream;
  if (!methods.includes(exchange.method)) throw status.methodNotAllowed();
  const found = target(object, context.cluster);
  const connection = found && (await tunnels.to(found.node));
  if (found === undefined || connection === undefined)
    throw status.serviceUnavailable(`${resource}/${subresource} needs the node of ${context.info.name}, which is not connected`);
  const query = exchange.url.includes('?') ? exchange.url.slice(exchange.url.indexOf('?')) : '';
  const sent = { method: exchange.method, path: `/node${found.path}${query}`, body: exchange.bodyStream(), signal };
  const response = await askNode({ node: found.node, connection }, context, sent);
  if (response.status >= 400) throw await tunnelRefusal(response, found.node);
  await relayBody(stream, { code: response.status, type: response.headers['content-type'] ?? 'text/plain', body: response.stream });
}
