import { FieldPath, fieldError, fieldsOf, itemsOf, type KubeObject, numberOf, status, textOf } from '@capstan/machinery';
import { negotiateDocument } from '../discovery/negotiate.ts';
import type { Exchange } from '../http/exchange.ts';
import { accepted, requireOffered } from '../http/negotiate.ts';
import type { RequestContext } from '../registry/context.ts';
import { fresh } from '../registry/list.ts';
import type { Resource } from '../registry/resource.ts';
import type { Query } from '../request/info.ts';
import type { Serving } from './serving.ts';

/** Subresources that need a node: without one they cannot be served, but invalid requests still get their proper error. */
const connections = new Set(['log', 'exec', 'attach', 'portforward', 'proxy']);

export function isConnection(resource: Resource, subresource: string): boolean {
  return resource.group === '' && connections.has(subresource);
}

export async function handleConnect(serving: Serving, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  const { subresource, name, query } = context.info;
  if (subresource === 'log') {
    requireOffered(exchange.headers.accept, ['text/plain', ...accepted]);
    negotiateDocument(exchange.headers.accept, false);
    checkLogOptions(name, query);
  }
  await fresh(serving.cache);
  if (subresource === 'proxy') throw proxyProblem(context, resource);
  const pod = find(context, resource, name);
  if (pod === undefined) throw status.notFound(resource, name);
  if (subresource !== 'portforward') checkContainer(pod, query.get('container') ?? '');
  const node = textOf(fieldsOf(pod['spec'])['nodeName']);
  // A pod without a node has not logged anything yet.
  if (node === '' && subresource === 'log') return exchange.send({ code: 204, type: '', body: '' });
  if (node === '') throw status.badRequest(`pod ${name} does not have a host assigned`);
  // Kubernetes looks the node up on behalf of the pod, so the error names `pods`.
  if (find(context, { group: '', resource: 'nodes', namespaced: false }, node) === undefined) throw status.notFound(resource, node);
  throw noNode(resource, subresource);
}

/** Logs, shells and proxies need a node that runs the workload. */
export function noNode({ resource }: Pick<Resource, 'resource'>, subresource: string): Error {
  return status.serviceUnavailable(
    `${resource}/${subresource} needs a node that runs the workload, and none is attached to this control plane`,
  );
}

function find(
  { objects, cluster, info }: RequestContext,
  { group, resource, namespaced }: Pick<Resource, 'group' | 'resource' | 'namespaced'>,
  name: string,
): KubeObject | undefined {
  return objects.get({ group, resource, cluster, namespace: namespaced ? info.namespace : '', name });
}

const wholeNumber = /^[+-]?\d+$/;
const largest = 2n ** 63n - 1n;

function numberParameter(query: Query, name: string): bigint | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (text === '') return 0n;
  if (!wholeNumber.test(text)) throw status.badRequest(`strconv.ParseInt: parsing ${fieldError.quote(text)}: invalid syntax`);
  const value = BigInt(text.replace(/^\+/, ''));
  if (value > largest || value < -largest - 1n)
    throw status.badRequest(`strconv.ParseInt: parsing ${fieldError.quote(text)}: value out of range`);
  return value;
}

function checkLogOptions(pod: string, query: Query): void {
  const seconds = numberParameter(query, 'sinceSeconds');
  const since = query.get('sinceTime');
  const lines = numberParameter(query, 'tailLines');
  const bytes = numberParameter(query, 'limitBytes');
  const at = (name: string): FieldPath => FieldPath.of(name);
  const errors = [];
  if (lines !== undefined && lines < 0n) errors.push(fieldError.invalid(at('tailLines'), lines, 'must be greater than or equal to 0'));
  if (bytes !== undefined && bytes < 1n) errors.push(fieldError.invalid(at('limitBytes'), bytes, 'must be greater than 0'));
  if (seconds !== undefined && since !== null)
    errors.push(fieldError.forbidden(at('[]'), 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  else if (seconds !== undefined && seconds < 1n) errors.push(fieldError.invalid(at('sinceSeconds'), seconds, 'must be greater than 0'));
  if (query.get('stream') !== null) errors.push(fieldError.forbidden(at('stream'), 'may not be specified'));
  if (errors.length > 0) throw status.invalidObject({ group: '', kind: 'PodLogOptions' }, pod, errors);
}

const containerFields = ['containers', 'initContainers', 'ephemeralContainers'];
const chosenContainer = 'kubectl.kubernetes.io/default-container';

/** A pod with several containers needs a container name, unless it names a default itself. */
function checkContainer(pod: KubeObject, asked: string): void {
  const { name } = pod.metadata;
  const spec = fieldsOf(pod['spec']);
  const namesOf = (field: string): string[] => itemsOf(spec[field]).map((container) => textOf(container['name']));
  const all = containerFields.flatMap(namesOf);
  if (asked !== '') {
    if (!all.includes(asked)) throw status.badRequest(`container ${asked} is not valid for pod ${name}`);
    return;
  }
  const own = namesOf('containers');
  if (own.length === 1 || all.includes(pod.metadata.annotations?.[chosenContainer] ?? '')) return;
  const started = namesOf('initContainers');
  const beside = started.length > 0 ? ` or one of the init containers: [${started.join(' ')}]` : '';
  throw status.badRequest(`a container name must be specified for pod ${name}, choose one of: [${own.join(' ')}]${beside}`);
}

interface Address {
  readonly name: string;
  readonly port: string;
}

/** `name`, `name:port` or `scheme:name:port`. */
function addressOf(text: string): Address | undefined {
  const parts = text.split(':');
  if (parts.length === 1) return { name: text, port: '' };
  if (parts.length === 2) return { name: parts[0]!, port: parts[1]! };
  return parts.length === 3 && ['', 'http', 'https'].includes(parts[0]!) ? { name: parts[1]!, port: parts[2]! } : undefined;
}

const requested: Readonly<Record<string, string>> = { pods: 'pod', services: 'service', nodes: 'node' };

function proxyProblem(context: RequestContext, resource: Resource): Error {
  const { name } = context.info;
  const address = addressOf(name);
  if (address === undefined) return status.badRequest(`invalid ${requested[resource.resource]} request ${fieldError.quote(name)}`);
  const object = find(context, resource, address.name);
  if (object === undefined) return status.notFound(resource, address.name);
  if (resource.resource === 'services') return serviceProblem(context, object, address);
  if (resource.resource === 'pods' && textOf(fieldsOf(object['status'])['podIP']) === '') return status.badRequest('address not allowed');
  return noNode(resource, 'proxy');
}

function serviceProblem(context: RequestContext, service: KubeObject, { name, port }: Address): Error {
  const isPort = (given: Readonly<Record<string, unknown>>): boolean =>
    textOf(given['name']) === port || String(numberOf(given['port'])) === port;
  if (port !== '' && !itemsOf(fieldsOf(service['spec'])['ports']).some(isPort))
    return status.serviceUnavailable(`no service port ${port} found for service ${fieldError.quote(name)}`);
  const endpoints = find(context, { group: '', resource: 'endpoints', namespaced: true }, name);
  if (endpoints === undefined) return status.notFound({ group: '', resource: 'services' }, name);
  if (itemsOf(endpoints['subsets']).length === 0)
    return status.serviceUnavailable(`no endpoints available for service ${fieldError.quote(name)}`);
  return noNode({ resource: 'services' }, 'proxy');
}
