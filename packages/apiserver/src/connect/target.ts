import { rankOfContainer, rootCluster, unitLabel, unitNodesAnnotation } from '@capstan/api';
import { fieldsOf, type KubeObject, status, textOf } from '@capstan/machinery';
import type { NodeConnection } from '@capstan/streams';
import type { RequestContext } from '../registry/context.ts';
import type { Resource } from '../registry/resource.ts';
import type { Kubelet, KubeletClient } from './kubelet.ts';
import type { Tunnels } from './tunnels.ts';

/** How a node is reached: at an address, or through the tunnel that its agent opened. */
export type NodeTarget =
  | { readonly kind: 'kubelet'; readonly kubelet: Kubelet }
  | { readonly kind: 'tunnel'; readonly node: string; readonly connection: NodeConnection };

export interface Reach {
  readonly kubelets: KubeletClient;
  readonly tunnels: Tunnels;
}

type Kind = Pick<Resource, 'group' | 'resource' | 'namespaced'>;
const nodes: Kind = { group: '', resource: 'nodes', namespaced: false };

/** An object in the workspace and namespace of the request. */
export function findObject(
  { objects, cluster, info }: RequestContext,
  { group, resource, namespaced }: Kind,
  name: string,
): KubeObject | undefined {
  return objects.get({ group, resource, cluster, namespace: namespaced ? info.namespace : '', name });
}

/** The node that a pod is assigned to; empty if it has none. */
export const nodeNameOf = (pod: KubeObject): string => textOf(fieldsOf(pod['spec'])['nodeName']);

/** Where a container runs: on the node of its pod, except for those of a unit on several nodes. */
export function placeOfContainer(pod: KubeObject, container: string): { readonly node: string; readonly container: string } {
  const { labels, annotations } = pod.metadata;
  const nodes = labels?.[unitLabel] === undefined ? undefined : annotations?.[unitNodesAnnotation]?.split(',');
  const there = rankOfContainer(container);
  const node = nodes?.[there.rank];
  return node === undefined ? { node: nodeNameOf(pod), container } : { node, container: there.container };
}

/**
 * Finds a node. The server dials only nodes of the root workspace: elsewhere tenants write nodes themselves, and an address of their choice
 * could be that of another tenant's kubelet, which trusts the server.
 */
export async function reachNode(
  { kubelets, tunnels }: Reach,
  context: RequestContext,
  { name, resource }: { name: string; resource: Kind },
): Promise<NodeTarget> {
  const node = findObject(context, nodes, name);
  if (node !== undefined && context.cluster === rootCluster) return { kind: 'kubelet', kubelet: kubelets.of(node) };
  const connection = await tunnels.to(name);
  if (connection !== undefined) return { kind: 'tunnel', node: name, connection };
  // Kubernetes looks the node up on behalf of the pod, so the error names `pods`.
  if (node === undefined) throw status.notFound(resource, name);
  throw status.serviceUnavailable(
    `node ${name} is not connected. Nodes of this workspace are reached only through their agents; the server dials those of the root workspace`,
  );
}
