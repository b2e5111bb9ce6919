import {
  type AppInstance,
  accessCheckPath,
  accessGroupsHeader,
  accessMethodHeader,
  accessProxyPath,
  appInstanceKind,
  appsGroup,
  clusterAdminsGroup,
  clusterViewersGroup,
} from '@capstan/api';
import { StatusError, status } from '@capstan/machinery';
import type { OwnRequest, OwnSubresource } from '../connect/own-subresource.ts';
import { proxiedHeaders } from '../connect/proxy-headers.ts';
import { proxyThroughTunnel, splitPath } from '../connect/tunnel-proxy.ts';
import { askNode, type NodeInTunnel } from '../connect/tunnel-request.ts';
import type { Tunnels } from '../connect/tunnels.ts';
import type { RequestContext } from '../registry/context.ts';
import type { AppObjects } from './members.ts';

/**
 * `appinstances/proxy`: the Kubernetes API of an instance. The agent of a member that serves it adds the client certificate and acts in the name of the user, so that neither the address
 * nor the credentials of the cluster leave its nodes.
 */
export function clusterProxy(objects: AppObjects, tunnels: Tunnels): OwnSubresource {
  return {
    group: appsGroup,
    resource: appInstanceKind.resource,
    subresource: 'proxy',
    async serve({ stream, context, object, resource }) {
      if (!objects.isOfPlatform(resource)) throw status.notFound(resource, context.info.name);
      const instance = object as AppInstance;
      const { exchange } = stream;
      const node = await serverOf({ objects, tunnels }, { context, instance });
      const { prefix, rest } = splitPath(context, resource);
      const path = `${rest === '' ? '/' : rest}`;
      const query = exchange.url.includes('?') ? exchange.url.slice(exchange.url.indexOf('?')) : '';
      const proxied = { method: exchange.method, path: `${path}${query}`, headers: proxiedHeaders(exchange, `${prefix}${path}`), prefix };
      const headers = {
        [accessGroupsHeader]: encodeURIComponent((await mayChange(context)) ? clusterAdminsGroup : clusterViewersGroup),
        [accessMethodHeader]: exchange.method,
      };
      const target = { ...node, path: `/node${accessProxyPath(instance.metadata.uid ?? '')}`, headers };
      await proxyThroughTunnel(stream, context, { target, proxied });
    },
  };
}

/** Users who may update the subresource administer the cluster. */
async function mayChange({ permit }: RequestContext): Promise<boolean> {
  // A missing check is no permission.
  if (permit === undefined) return false;
  try {
    await permit('update');
    return true;
  } catch (error) {
    if (error instanceof StatusError && error.code === 403) return false;
    throw error;
  }
}

interface Reach {
  readonly objects: AppObjects;
  readonly tunnels: Tunnels;
}

/** The node of a member that serves the Kubernetes API and is connected. */
export async function serverOf(
  { objects, tunnels }: Reach,
  { context, instance }: Pick<OwnRequest, 'context'> & { readonly instance: AppInstance },
): Promise<NodeInTunnel> {
  const { name, namespace } = context.info;
  const { kubeconfig, kubernetes } = instance.status?.access ?? {};
  if (kubeconfig !== true)
    throw status.serviceUnavailable(`the instance ${name} has no Kubernetes API yet: its state is ${instance.status?.state ?? 'pending'}`);
  const place = { cluster: context.cluster, namespace, name };
  const component = kubernetes === undefined ? undefined : objects.member(place, kubernetes)?.spec.component;
  const members = objects.members(place).filter(({ spec }) => component === undefined || spec.component === component);
  const connected: NodeInTunnel[] = [];
  for (const { spec } of members) {
    const connection = await tunnels.to(spec.node);
    if (connection !== undefined) connected.push({ node: spec.node, connection });
  }
  const [first, ...others] = connected;
  if (first === undefined)
    throw status.serviceUnavailable(
      members.length === 0
        ? `the instance ${name} has no member that serves its Kubernetes API`
        : `no member that serves the Kubernetes API of ${name} is connected: ${members.map(({ spec }) => spec.node).join(', ')}`,
    );
  if (others.length === 0) return first;
  // Several servers: one that joins has no API yet.
  for (const node of connected) if (await servesApi(node, context, instance)) return node;
  return first;
}

async function servesApi(node: NodeInTunnel, context: RequestContext, { metadata }: AppInstance): Promise<boolean> {
  try {
    const path = `/node${accessCheckPath(metadata.uid ?? '')}`;
    const { status: code, stream } = await askNode(node, context, { method: 'GET', path, signal: AbortSignal.timeout(patience) });
    stream.destroy();
    return code === 204;
  } catch {
    return false;
  }
}

/** In milliseconds: how long a node may take to say whether it serves the API. */
const patience = 2_000;
