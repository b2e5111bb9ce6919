import {
  builtinTypes,
  type DeleteOptions,
  formatTime,
  invalidOptions,
  parseDeleteOptions,
  parseListOptions,
  type StatusDetails,
  StatusError,
  validateDeleteOptions,
  validateListOptions,
} from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { Exchange } from '../http/exchange.ts';
import { holding } from '../http/long-text.ts';
import { negotiate } from '../http/negotiate.ts';
import { catalogFor } from '../registry/catalogs.ts';
import type { RequestContext } from '../registry/context.ts';
import { unsaved } from '../registry/create.ts';
import { type DeleteRequest, deleteObject } from '../registry/delete.ts';
import { list } from '../registry/list.ts';
import { type Resource, readable } from '../registry/resource.ts';
import { bodyOf } from './body.ts';
import { decodeObject } from './decode.ts';
import { send, shaperFor } from './read.ts';
import type { Serving } from './serving.ts';

export async function handleDelete(serving: Serving, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  const wanted = negotiate(exchange.headers.accept);
  const options = await readOptions(serving, exchange, context);
  warnOfDependents(resource, options, context);
  const { namespace, name } = context.info;
  const request: DeleteRequest = { resource, namespace, name, options, dryRun: (options.dryRun ?? []).length > 0 };
  const deleted = await deleteObject(serving, context, request).catch((error: unknown) => {
    if (!isMissing(error) || serving.builtinObjects.find(resource, context.info) === undefined) throw error;
    throw new StatusError({
      ...error.status,
      message: `${error.message}: it is built in, and nothing of that name is stored in this workspace`,
    });
  });
  const accepted = !deleted.gone && options.orphanDependents === false;
  if (!deleted.gone || resource.strategy.returnDeletedObject === true) {
    const converting = readable(resource, [deleted.entry]);
    if (converting !== undefined) await converting;
    const entry = deleted.gone && resource.strategy.gracePeriodSeconds !== undefined ? ended(deleted.entry, context.now()) : deleted.entry;
    return send(exchange, context, { code: accepted ? 202 : 200, body: shaperFor(resource, wanted, context).one(entry), wanted });
  }
  const details: StatusDetails = {
    name,
    ...(resource.group && { group: resource.group }),
    kind: resource.resource,
    uid: deleted.entry.object.metadata.uid ?? '',
  };
  send(exchange, context, {
    code: 200,
    body: `${JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details })}\n`,
    wanted,
  });
}

function isMissing(error: unknown): error is StatusError {
  return error instanceof StatusError && error.reason === 'NotFound';
}

/** An object with a grace period that was deleted without waiting for it is returned with a grace period of zero. */
function ended(entry: CacheEntry, now: Date): CacheEntry {
  const object = entry.parse();
  if (object.metadata.deletionTimestamp === undefined) {
    object.metadata.deletionTimestamp = formatTime(now);
    if (object.metadata.generation !== undefined) object.metadata.generation += 1;
  }
  object.metadata.deletionGracePeriodSeconds = 0;
  return unsaved(entry.key, object, entry.revision);
}

/** Deletes the objects that match a selector, in batches; objects deleted by others meanwhile are not an error. */
export async function handleDeleteCollection(
  serving: Serving,
  exchange: Exchange,
  context: RequestContext,
  resource: Resource,
): Promise<void> {
  const wanted = negotiate(exchange.headers.accept);
  const listErrors = validateListOptions(parseListOptions(context.info.query));
  if (listErrors.length > 0) throw invalidOptions('ListOptions', listErrors);
  const options = await readOptions(serving, exchange, context);
  const found = await list(serving.cache, resource, context.info, { pace: context.pace(), hold: holding(exchange) });
  warnOfDependents(resource, options, context);
  const dryRun = (options.dryRun ?? []).length > 0;
  for (let at = 0; at < found.entries.length; at += deletedAtOnce) {
    const some = found.entries
      .slice(at, at + deletedAtOnce)
      .map((entry) => deleteListed(serving, context, { resource, options, dryRun, entry }));
    await Promise.all(some);
  }
  const converting = readable(resource, found.entries, context.pace());
  if (converting !== undefined) await converting;
  // Items are returned as they were listed, whether or not they are already gone.
  send(exchange, context, {
    code: 200,
    body: shaperFor(resource, wanted, context).list(found.entries, found.meta),
    wanted,
  });
}

/** Enough to fill a commit of the store, and few enough to let other requests in between. */
const deletedAtOnce = 64;

async function deleteListed(
  serving: Serving,
  context: RequestContext,
  { resource, options, dryRun, entry }: Pick<DeleteRequest, 'resource' | 'options' | 'dryRun'> & { entry: CacheEntry },
): Promise<void> {
  const [, namespace = '', name = ''] = entry.key.split('/');
  try {
    await deleteObject(serving, context, { resource, namespace, name, options, dryRun });
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== 'NotFound') throw error;
  }
}

function warnOfDependents({ strategy: { deletionWarning } }: Resource, options: DeleteOptions, context: RequestContext): void {
  if (deletionWarning !== undefined && options.propagationPolicy === undefined && options.orphanDependents === undefined)
    context.warn(deletionWarning);
}

async function readOptions(serving: Serving, exchange: Exchange, context: RequestContext): Promise<DeleteOptions> {
  const fromQuery = parseDeleteOptions(context.info.query);
  const bytes = exchange.headers['content-length'] === '0' ? Buffer.alloc(0) : await bodyOf(exchange);
  const options = bytes.length === 0 ? fromQuery : bodyOptions(serving, exchange, { bytes, context });
  const errors = validateDeleteOptions(options);
  if (errors.length > 0) throw invalidOptions('DeleteOptions', errors);
  return options;
}

function bodyOptions(
  { catalogs }: Serving,
  exchange: Exchange,
  { bytes, context }: { bytes: Buffer; context: RequestContext },
): DeleteOptions {
  const type = builtinTypes().object('io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions');
  const { group, version } = context.info;
  // Clients send options in the version of the resource or in the core version: both mean the same.
  const groupVersion =
    bytes.includes('"apiVersion"') || bytes.subarray(0, 4).toString('latin1') === 'k8s\0'
      ? declaredVersion(bytes)
      : group === ''
        ? version
        : `${group}/${version}`;
  try {
    const expected = { kind: 'DeleteOptions', groupVersion, type };
    const body = { bytes, contentType: exchange.headers['content-type'] };
    return decodeObject(body, expected, {
      catalog: catalogFor({ catalogs }, context.info),
      validation: 'Ignore',
      context,
    }) as unknown as DeleteOptions;
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 400) throw error;
    // Kubernetes reports errors in options without the usual prefix, and as internal errors.
    const message = error.message
      .replace(/^the object provided is unrecognized [^:]*: (.*) \(.*\)$/s, '$1')
      .replace(/^.*? cannot be handled as a [^:]*: /, '');
    throw new StatusError({ code: 500, message });
  }
}

function declaredVersion(bytes: Buffer): string {
  const found = /"apiVersion"\s*:\s*"([^"]+)"/.exec(bytes.toString('latin1'));
  if (found !== null) return found[1]!;
  // The envelope starts with the type, whose first string is the version.
  const length = bytes[7] ?? 0;
  return bytes.subarray(8, 8 + length).toString('latin1') || 'v1';
}
