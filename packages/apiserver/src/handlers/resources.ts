import { everyCluster, rootCluster } from '@capstan/api';
import { deprecations } from '@capstan/kinds';
import { status } from '@capstan/machinery';
import type { Exchange } from '../http/exchange.ts';
import { acceptedForLists, negotiate, requireOffered } from '../http/negotiate.ts';
import { catalogFor } from '../registry/catalogs.ts';
import type { RequestContext } from '../registry/context.ts';
import type { CustomKind, Resource } from '../registry/resource.ts';
import { patchKindOf } from './patch.ts';
import { handleGet, handleList, handleWatch } from './read.ts';
import { handleDelete, handleDeleteCollection } from './remove.ts';
import type { Serving } from './serving.ts';
import { handleSubresource } from './subresources.ts';
import { handleVirtual, handleVirtualObject } from './virtual.ts';
import { handleCreate, handlePatch, handleUpdate } from './write.ts';

/** Answers a request for a resource, once it is known who asks and that they may. */
export function handleResource(serving: Serving, exchange: Exchange, context: RequestContext): Promise<void> {
  const { info } = context;
  const served = catalogFor(serving, info).resource(info.group, info.version, info.resource);
  if (served === undefined) throw status.noSuchResource();
  const resource = served.source === undefined ? served : served.source(info.cluster);
  if (resource.metadataOnly === true && !negotiate(exchange.headers.accept).shape.startsWith('PartialObjectMetadata'))
    throw status.noSuchResource();
  if (resource.custom !== undefined) checkCustom(resource.custom, exchange, context);
  if (info.namespace !== '' && !resource.namespaced && info.resource !== 'namespaces') throw status.noSuchResource();
  checkName(context);
  if (info.cluster === everyCluster && info.verb !== 'list' && info.verb !== 'watch') throw status.methodNotAllowed();
  if (info.subresource !== '') return handleSubresource(serving, exchange, context, resource);
  if (resource.virtual) return handleVirtual(serving, exchange, context, resource);
  // A list under a name, or a name under a list, is a path that is served with other methods only.
  if (!resource.verbs.has(info.verb)) throw status.methodNotAllowed();
  if (!fits(info.verb, info.path, context)) refuseMisfit(resource, info.verb, exchange);
  const deprecation = deprecations.get(`${info.group}/${info.resource}`);
  if (deprecation !== undefined) warnOfDeprecation(deprecation, exchange, context);
  const virtual =
    info.name === '~' && info.verb === 'get' && info.cluster === rootCluster
      ? serving.virtualObjects.get(`${info.group}/${info.resource}/${info.name}`)
      : undefined;
  if (virtual !== undefined) return handleVirtualObject(serving, exchange, context, virtual);
  if (resource.custom === undefined) requireOffered(exchange.headers.accept, offeredFor(info.verb));
  return handleVerb(serving, exchange, context, resource);
}

/** Whoever asks in a way that the path does not take hears nothing else. */
function warnOfDeprecation(deprecation: string, { headers }: Exchange, { info, warn }: RequestContext): void {
  requireOffered(headers.accept, offeredFor(info.verb));
  if (info.verb === 'patch') patchKindOf(headers['content-type']);
  warn(deprecation);
}

const offeredFor = (verb: string): readonly string[] | undefined => (verb === 'list' || verb === 'watch' ? acceptedForLists : undefined);

function checkCustom({ warning }: CustomKind, exchange: Exchange, context: RequestContext): void {
  // Whoever takes nothing of it is told before anything is looked for.
  negotiate(exchange.headers.accept, false);
  if (warning !== undefined) context.warn(warning);
}

function handleVerb(serving: Serving, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  switch (context.info.verb) {
    case 'get':
      return handleGet(serving, exchange, context, resource);
    case 'list':
      return handleList(serving, exchange, context, resource);
    case 'watch':
      return handleWatch(serving.hub, exchange, context, resource);
    case 'create':
      if (resource.namespaced && context.info.namespace === '') throw status.methodNotAllowed();
      return handleCreate(serving, exchange, context, resource);
    case 'update':
      return handleUpdate(serving, exchange, context, resource);
    case 'patch':
      return handlePatch(serving, exchange, context, resource);
    case 'delete':
      return handleDelete(serving, exchange, context, resource);
    case 'deletecollection':
      if (resource.namespaced && context.info.namespace === '') throw status.methodNotAllowed();
      return handleDeleteCollection(serving, exchange, context, resource);
    default:
      throw status.methodNotAllowed();
  }
}

/** A name with a slash leads to no path; one that is a step in a path is no name. */
function checkName({ info }: RequestContext): void {
  const { name, namespace } = info;
  if (name.includes('/') || namespace.includes('/')) throw status.noSuchResource();
  if (name === '.' || name === '..') throw status.badRequest(`Name parameter invalid: "${name}": may not be '${name}'`);
}

/** Paths of kinds that users added take every method: one that is created may have a name in its path, which says nothing. */
function refuseMisfit({ custom }: Resource, verb: string, { headers }: Exchange): void {
  if (custom === undefined) throw status.methodNotAllowed();
  if (verb === 'patch') patchKindOf(headers['content-type'], false);
  if (verb !== 'create') throw status.badRequest('name must be provided');
}

/** Creating goes to the collection; changing goes to a name. */
function fits(verb: string, path: string, { info }: RequestContext): boolean {
  const named = info.name !== '' && path.endsWith(`/${info.name}`);
  if (verb === 'create') return !named;
  if (verb === 'update' || verb === 'patch') return named;
  return true;
}
