import { rootCluster } from '@capstan/api';
import { fieldError, fieldsOf, itemsOf, type KubeObject, numberOf, status, textOf } from '@capstan/machinery';
import type { NodeConnection } from '@capstan/streams';
import type { RequestContext } from '../registry/context.ts';
import type { Resource } from '../registry/resource.ts';
import { type ProxyName, parseProxyName, requireProxyable } from './address.ts';
import type { Kubelet } from './kubelet.ts';
import { findObject, nodeNameOf, type Reach } from './target.ts';

/** Where a proxied request goes. */
export type ProxyTarget =
  | { readonly kind: 'kubelet'; readonly kubelet: Kubelet }
  | { readonly kind: 'address'; readonly scheme: 'http' | 'https'; readonly host: string; readonly port: number }
  | { readonly kind: 'tunnel'; readonly node: string; readonly connection: NodeConnection; readonly path: string };

const pods = { group: '', resource: 'pods', namespaced: true };
const endpointsKind = { group: '', resource: 'endpoints', namespaced: true };

/** Finds the target of a proxied request, or throws the error that Kubernetes would give. */
export async function findProxyTarget(reach: Reach, context: RequestContext, resource: Resource): Promise<ProxyTarget> {
  const wanted = parseProxyName(context.info.name, resource.resource);
  const object = findObject(context, resource, wanted.name);
  if (object === undefined) throw status.notFound(resource, wanted.name);
  if (resource.resource === 'services') return serviceTarget(reach, context, { service: object, wanted });
  if (resource.resource === 'nodes') return nodeTarget(reach, context, { node: object, wanted });
  return podTarget(reach, context, { pod: object, wanted });
}

interface PodPort {
  readonly pod: KubeObject;
  readonly wanted: Pick<ProxyName, 'scheme' | 'port'>;
}

async function podTarget(reach: Reach, context: RequestContext, { pod, wanted }: PodPort): Promise<ProxyTarget> {
  const port = wanted.port === '' ? firstPort(pod) : wanted.port;
  const node = nodeNameOf(pod);
  const connection = node === '' ? undefined : await reach.tunnels.to(node);
  if (connection !== undefined) {
    const path = [context.cluster, pod.metadata.namespace ?? '', pod.metadata.name ?? '', port].map(encodeURIComponent).join('/');
    return { kind: 'tunnel', node, connection, path: `/proxy/${path}` };
  }
  return addressTarget(context, { host: textOf(fieldsOf(pod['status'])['podIP']), port, scheme: wanted.scheme });
}

function firstPort(pod: KubeObject): string {
  const ports = itemsOf(fieldsOf(pod['spec'])['containers']).flatMap((container) => itemsOf(container['ports']));
  return ports[0] === undefined ? '' : String(numberOf(ports[0]['containerPort']));
}

/** The server dials only for objects of the root workspace: elsewhere tenants write the addresses. */
function addressTarget(context: RequestContext, { host, port, scheme }: { host: string; port: string; scheme: string }): ProxyTarget {
  requireProxyable(host);
  if (context.cluster !== rootCluster)
    throw status.serviceUnavailable('no node of this workspace is connected; the server dials only addresses of the root workspace');
  const secure = scheme === 'https';
  const number = port === '' ? (secure ? 443 : 80) : Number(port);
  if (!Number.isInteger(number) || number < 1 || number > 65_535)
    throw status.badRequest(`expected the number of a port, found ${fieldError.quote(port)}`);
  return { kind: 'address', scheme: secure ? 'https' : 'http', host, port: number };
}

/**
 * A proxy of a node leads to its kubelet only, never to an agent: elsewhere than in the root workspace tenants name nodes as they like, and an agent
 * serves the platform, not the owner of a node with its name.
 */
function nodeTarget({ kubelets }: Reach, context: RequestContext, { node, wanted }: { node: KubeObject; wanted: ProxyName }): ProxyTarget {
  if (context.cluster !== rootCluster)
    throw status.serviceUnavailable(`node ${wanted.name} has no proxy: the server dials only nodes of the root workspace`);
  const kubelet = kubelets.of(node);
  if (wanted.port === '' || Number(wanted.port) === kubelet.port) return { kind: 'kubelet', kubelet };
  const addresses = itemsOf(fieldsOf(node['status'])['addresses']);
  const address = textOf(addresses.find(({ type }) => type === 'InternalIP')?.['address']) || kubelet.host;
  return addressTarget(context, { host: address, port: wanted.port, scheme: wanted.scheme });
}

async function serviceTarget(
  reach: Reach,
  context: RequestContext,
  { service, wanted }: { service: KubeObject; wanted: ProxyName },
): Promise<ProxyTarget> {
  const { name, scheme } = wanted;
  const portName = servicePortName(service, wanted);
  const endpoints = findObject(context, endpointsKind, name);
  if (endpoints === undefined) throw status.notFound({ group: '', resource: 'services' }, name);
  const subsets = itemsOf(endpoints['subsets']);
  // Starts anywhere, so that requests spread over all endpoints.
  const start = Math.floor(Math.random() * Math.max(1, subsets.length));
  for (const subset of [...subsets.slice(start), ...subsets.slice(0, start)]) {
    const found = itemsOf(subset['ports']).find((port) => textOf(port['name']) === portName);
    const addresses = itemsOf(subset['addresses']);
    if (found === undefined || addresses.length === 0) continue;
    const address = addresses[Math.floor(Math.random() * addresses.length)]!;
    return endpointTarget(reach, context, { address, port: String(numberOf(found['port'])), scheme });
  }
  throw status.serviceUnavailable(`no endpoints available for service ${fieldError.quote(name)}`);
}

/** Endpoints name the port of a service by its name, which is empty if it has only one. */
function servicePortName(service: KubeObject, { name, port }: ProxyName): string {
  const ports = itemsOf(fieldsOf(service['spec'])['ports']);
  if (port === '') return textOf(ports.length === 1 ? ports[0]!['name'] : undefined);
  const found = ports.find((given) => textOf(given['name']) === port || String(numberOf(given['port'])) === port);
  if (found === undefined) throw status.serviceUnavailable(`no service port ${port} found for service ${fieldError.quote(name)}`);
  return textOf(found['name']);
}

function endpointTarget(
  reach: Reach,
  context: RequestContext,
  { address, port, scheme }: { address: Readonly<Record<string, unknown>>; port: string; scheme: string },
): Promise<ProxyTarget> | ProxyTarget {
  const reference = fieldsOf(address['targetRef']);
  const pod = reference['kind'] === 'Pod' ? findObject(context, pods, textOf(reference['name'])) : undefined;
  if (pod !== undefined && context.cluster !== rootCluster) return podTarget(reach, context, { pod, wanted: { scheme, port } });
  return addressTarget(context, { host: textOf(address['ip']), port, scheme });
}
