import { made } from '@capstan/kinds';
import { type KubeObject, StatusError, status, updateManaged } from '@capstan/machinery';
import type { Exchange } from '../http/exchange.ts';
import { accepted, negotiate, requireOffered } from '../http/negotiate.ts';
import type { RequestContext } from '../registry/context.ts';
import { fresh } from '../registry/list.ts';
import { cachedEntry, type Target } from '../registry/objects.ts';
import type { Resource, Subresource } from '../registry/resource.ts';
import { objectOf } from '../registry/resource.ts';
import { handleGet, send } from './read.ts';
import { handleScale } from './scale.ts';
import type { Serving } from './serving.ts';
import { checkNamespace, handlePatch, handleUpdate, readObject, writeSettings } from './write.ts';

/** Handles an object created through a subresource of another: a service account's token, a pod's binding. */
export type VirtualSubresource = (call: {
  object: KubeObject;
  /** The object that has the subresource. Throws if it does not exist. */
  parent: () => KubeObject;
  context: RequestContext;
  target: Target;
  dryRun: boolean;
}) => KubeObject | Promise<KubeObject>;

export function handleSubresource(serving: Serving, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  const isConnection = serving.connections.has(resource, context.info.subresource);
  const sub = resource.subresources.get(context.info.subresource);
  // Subresources that nodes serve are not part of a kind's definition.
  if (sub === undefined && isConnection) return serving.connections.handle(exchange, context, resource);
  if (sub === undefined) throw resource.custom === undefined ? status.noSuchResource() : status.notFound(resource, context.info.name);
  // OPTIONS has no verb: only those who may do everything may send it.
  const isPassedOn = isConnection && sub.name === 'proxy' && exchange.method === 'OPTIONS';
  if (!isPassedOn && !sub.verbs.has(context.info.verb))
    throw resource.custom === undefined ? status.methodNotAllowed() : unsupported(resource, context.info.verb);
  if (resource.custom === undefined && !isConnection) requireOffered(exchange.headers.accept);
  if (sub.name === 'status' && withoutTables.has(`${resource.group}/${resource.resource}`)) dropTables(exchange);
  if (sub.name === 'scale') return handleScale(serving, exchange, context, { resource, sub });
  if (isConnection) return serving.connections.handle(exchange, context, resource);
  if (sub.kind === resource.kind && sub.groupVersion === resource.groupVersion) return handleWhole(serving, exchange, context, resource);
  if (context.info.verb === 'create') return handleVirtualSubresource(serving, exchange, context, { resource, sub });
  throw status.methodNotAllowed();
}

/** Kinds whose status is not available as a table. */
const withoutTables: ReadonlySet<string> = new Set([
  'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/apiservices',
  'resource.k8s.io/resourceclaims',
]);

/** Ignores tables in the Accept header; rejects the request if nothing else is accepted. */
function dropTables({ headers }: Exchange): void {
  if (headers.accept?.includes('as=Table') !== true) return;
  const others = headers.accept.split(',').filter((clause) => !clause.includes('as=Table'));
  if (others.length === 0) throw status.notAcceptable(accepted);
  headers.accept = others.join(',');
}

function unsupported(resource: Resource, verb: string): StatusError {
  const message = `${verb} is not supported on resources of kind "${resource.resource}.${resource.group}"`;
  return new StatusError({ code: 405, reason: 'MethodNotAllowed', message, details: { group: resource.group, kind: resource.resource } });
}

/** The subresource is the object itself, but may change only a part of it. */
function handleWhole(serving: Serving, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  switch (context.info.verb) {
    case 'get':
      return handleGet(serving, exchange, context, resource);
    case 'update':
      return handleUpdate(serving, exchange, context, resource);
    case 'patch':
      return handlePatch(serving, exchange, context, resource);
    default:
      throw status.methodNotAllowed();
  }
}

const olderEvictions: ReadonlySet<string> = new Set(['policy/v1beta1']);

async function handleVirtualSubresource(
  serving: Serving,
  exchange: Exchange,
  context: RequestContext,
  { resource, sub }: { resource: Resource; sub: Subresource },
): Promise<void> {
  const answerer = serving.virtualSubresources.get(`${resource.group}/${resource.resource}/${sub.name}`);
  if (answerer === undefined || sub.type === undefined) throw status.methodNotAllowed();
  const wanted = negotiate(exchange.headers.accept);
  const settings = writeSettings(context, 'CreateOptions');
  const object = await readObject(serving, exchange, {
    context,
    expected: { kind: sub.kind, groupVersion: sub.groupVersion, type: sub.type, ...(sub.kind === 'Eviction' && { older: olderEvictions }) },
    validation: settings.validation,
  });
  const { namespace, name } = context.info;
  checkNamespace(context, resource, object);
  if (sub.name === 'token') recordToken(object, { sub, manager: settings.manager, now: context.now() });
  const asked = {
    operation: 'CREATE',
    resource,
    subresource: sub.name,
    namespace,
    name,
    object,
    old: undefined,
    context,
    dryRun: settings.dryRun,
    shape: sub,
  } as const;
  await serving.admission.mutate(asked);
  if (sub.name !== 'token' && object.metadata.name !== name)
    throw status.badRequest(`name in URL does not match name in ${sub.kind} object`);
  await serving.admission.validate(asked);
  await fresh(serving.cache);
  const answer = await answerer({
    object,
    parent: () => {
      const entry = cachedEntry(serving, context, { resource, namespace, name });
      if (entry === undefined) throw status.notFound(resource, name);
      return objectOf(resource, entry);
    },
    context,
    target: { resource, namespace, name },
    dryRun: settings.dryRun,
  });
  send(exchange, context, { code: 201, body: `${JSON.stringify(answer)}\n`, wanted });
}

/** A token request is returned whole, with its managed fields. */
function recordToken(object: KubeObject, { sub, manager, now }: { sub: Subresource; manager: string; now: Date }): void {
  const spec = made(object, 'spec');
  spec['expirationSeconds'] ??= 3600;
  updateManaged({
    live: undefined,
    updated: object,
    type: sub.type!,
    manager,
    apiVersion: sub.groupVersion,
    subresource: sub.name,
    now,
    resetFields: [['status']],
  });
}
