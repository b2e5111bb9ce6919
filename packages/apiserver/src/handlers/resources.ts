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

/** Handles a request for a resource, after authentication and authorization. */
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
  // The path exists, but only for other verbs: a list below a name, or a name below a list.
  if (!resource.verbs.has(info.verb)) throw status.methodNotAllowed();
  if (!fits(info)) refuseMisfit(resource, info.verb, exchange);
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

/** Requests that the path does not accept get no deprecation warning. */
function warnOfDeprecation(deprecation: string, { headers }: Exchange, { info, warn }: RequestContext): void {
  requireOffered(headers.accept, offeredFor(info.verb));
  if (info.verb === 'patch') patchKindOf(headers['content-type']);
  warn(deprecation);
}

const offeredFor = (verb: string): readonly string[] | undefined => (verb === 'list' || verb === 'watch' ? acceptedForLists : undefined);

function checkCustom({ warning }: CustomKind, exchange: Exchange, context: RequestContext): void {
  // Reports an unacceptable media type before looking for the object.
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

/** A name with a slash matches no path; `.` and `..` are not names. */
function checkName({ info }: RequestContext): void {
  const { name, namespace } = info;
  if (name.includes('/') || namespace.includes('/')) throw status.noSuchResource();
  if (name === '.' || name === '..') throw status.badRequest(`Name parameter invalid: "${name}": may not be '${name}'`);
}

/** Paths of custom resources accept every method: a create may have a name in its path, which is ignored. */
function refuseMisfit({ custom }: Resource, verb: string, { headers }: Exchange): void {
  if (custom === undefined) throw status.methodNotAllowed();
  if (verb === 'patch') patchKindOf(headers['content-type'], false);
  if (verb !== 'create') throw status.badRequest('name must be provided');
}

/** Creates are sent to the collection; changes are sent to a name. */
function fits({ verb, name }: RequestContext['info']): boolean {
  if (verb === 'create') return name === '';
  if (verb === 'update' || verb === 'patch') return name !== '';
  return true;
}
