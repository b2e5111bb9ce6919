import { everyCluster } from '@capstan/api';
import { StatusError, status, validateIncludeObject } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { Exchange } from '../http/exchange.ts';
import { holding, sendLong } from '../http/long-text.ts';
import { type Negotiated, negotiate, negotiateWatch, takesJson } from '../http/negotiate.ts';
import { reply, wantsPretty } from '../http/reply.ts';
import type { RequestContext } from '../registry/context.ts';
import { filterOf, isShown } from '../registry/filter.ts';
import { fresh, list, parseRevision, untilSeen } from '../registry/list.ts';
import { type Backend, placeOf } from '../registry/objects.ts';
import { type Resource, readable, textOf } from '../registry/resource.ts';
import type { RequestInfo, Scope } from '../registry/scope.ts';
import { type IncludeObject, moved, movedEverywhere, naming, type Shaper, shaper } from '../registry/shape.ts';
import type { WatchHub } from '../watch/hub.ts';
import type { Serving } from './serving.ts';

/** The dependencies of reads. */
type Reading = Backend & Pick<Serving, 'builtinObjects'>;

export async function handleGet(backend: Reading, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  const wanted = negotiate(exchange.headers.accept, resource.custom === undefined);
  const { info } = context;
  // Kubernetes serves these reads from a cache, which reports an invalid revision as an internal error.
  const revision = parseRevision(info.query.get('resourceVersion') ?? '', (message) =>
    resource.resource === 'events' ? status.badRequest(`invalid resource version: ${message}`) : new StatusError({ code: 500, message }),
  );
  if (revision === undefined) await fresh(backend.cache);
  else if (revision > 0) await untilSeen(backend.cache, revision);
  const { cached } = placeOf(context, { resource, namespace: info.namespace, name: info.name });
  const entry = backend.cache.resource(resource.storage).entries.get(cached) ?? backend.builtinObjects.find(resource, info);
  if (entry === undefined || !isShown(resource, entry, info)) throw status.notFound(resource, info.name);
  const converting = readable(resource, [entry]);
  if (converting !== undefined) await converting;
  const body =
    wanted.shape === 'object' && info.scope === undefined && resource.origin === undefined
      ? textOf(resource, entry)
      : shaperFor(resource, wanted, context).one(entry);
  send(exchange, context, { code: 200, body, wanted });
}

export async function handleList(backend: Reading, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  const wanted = negotiate(exchange.headers.accept, resource.custom === undefined);
  const shape = shaperFor(resource, wanted, context);
  const pace = context.pace();
  const page = await list(backend.cache, resource, context.info, { pace, hold: holding(exchange) });
  const converting = readable(resource, page.entries, pace);
  if (converting !== undefined) await converting;
  const entries = page.after === undefined ? withBuiltin(backend, resource, { info: context.info, found: page.entries }) : page.entries;
  const plain = isPlain(resource, wanted);
  if (isLong(entries, plain)) {
    const meta = page.meta;
    if (canStream(exchange, wanted)) return await sendLongList(exchange, { entries, meta, shape, isPlain: plain });
    await exchange.client?.turn();
  }
  send(exchange, context, { code: 200, body: shape.list(entries, page.meta), wanted });
}

/** Longer lists, in characters and in objects, are sent in pieces. Rows of tables take longer to make than texts that are sent as they are. */
const longList = { characters: 1 << 20, objects: 1_000, rows: 250 };

function isLong(entries: readonly CacheEntry[], plain: boolean): boolean {
  if (entries.length > (plain ? longList.objects : longList.rows)) return true;
  let characters = 0;
  for (const { text } of entries) if ((characters += text.length) > longList.characters) return true;
  return false;
}

/** Lists for the audit log, and in other formats, are made as a whole. */
function canStream({ method, isRecorded, headers }: Exchange, { format }: Negotiated): boolean {
  if (method !== 'GET' || isRecorded) return false;
  return format === 'json' || (format === 'protobuf' && takesJson(headers.accept ?? ''));
}

/** Whether the items are the texts of stored objects, so that showing them cannot fail. */
function isPlain({ storage, origin }: Resource, { shape }: Negotiated): boolean {
  return shape === 'object' && storage.convert === undefined && origin === undefined;
}

function sendLongList(
  exchange: Exchange,
  list: { readonly entries: readonly CacheEntry[]; readonly meta: string; readonly shape: Shaper; readonly isPlain: boolean },
): Promise<void> {
  const { entries, meta, shape, isPlain: cannotFail } = list;
  return sendLong(exchange, {
    type: 'application/json',
    pieces: shape.pieces(entries, meta),
    mayFail: !cannotFail,
    // The array of references; the objects themselves are in the cache, or are held already.
    sourceBytes: entries.length * 8,
  });
}

/** Informers name a revision to start from, even if only `0`, and then watch: they get only objects that can change. */
function withBuiltin(
  { builtinObjects }: Reading,
  resource: Resource,
  { info, found }: { readonly info: RequestInfo; readonly found: readonly CacheEntry[] },
): readonly CacheEntry[] {
  if (info.query.get('resourceVersion')) return found;
  const more = builtinObjects.list(resource, info);
  if (more.length === 0) return found;
  const { selects } = filterOf(resource, info);
  return [...found, ...(selects === undefined ? more : more.filter(selects))].sort((a, b) => (a.key < b.key ? -1 : 1));
}

export function handleWatch(hub: WatchHub, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  const wanted = negotiateWatch(exchange.headers.accept, resource.custom === undefined);
  return hub.watch(exchange, resource, context.info, { shaper: shaperFor(resource, wanted, context), format: wanted.format });
}

export function shaperFor(resource: Resource, wanted: Negotiated, context: RequestContext): Shaper {
  const include = context.info.query.get('includeObject') ?? '';
  if (wanted.shape === 'Table') {
    const errors = validateIncludeObject(include);
    const messages = errors.map(({ field, body }) => `${field}: ${body}`);
    if (messages.length > 0) throw status.badRequest(`Unable to convert to Table as requested: ${status.aggregate(messages)}`);
  }
  const shape = shaper(resource, wanted, include as IncludeObject, context.now);
  const { scope } = context.info;
  const named = scope === undefined ? shape : naming(shape, labelledBy(resource, scope));
  if (resource.origin === undefined) return named;
  if (context.cluster !== everyCluster) return moved(named, context.cluster);
  const shows = scope?.shows;
  return movedEverywhere(named, resource.origin, shows && ((entry) => shows(resource, entry)));
}

function labelledBy(resource: Resource, { labelled }: Scope): ((entry: CacheEntry) => CacheEntry) | undefined {
  return labelled && ((entry) => labelled(resource, entry));
}

export function send(exchange: Exchange, context: RequestContext, answer: { code: number; body: string; wanted: Negotiated }): void {
  reply(exchange, {
    code: answer.code,
    body: answer.body,
    format: answer.wanted.format,
    pretty: wantsPretty(exchange, context.info.query.get('pretty')),
  });
}
