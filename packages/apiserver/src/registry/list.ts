import { fieldError, invalidOptions, parseListOptions, type StatusError, status, validateListOptions } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import { endOf, type WatchCache } from '../cache/watch-cache.ts';
import { decodeToken, encodeToken } from './continue-token.ts';
import { type Filter, filterOf } from './filter.ts';
import type { Pace } from './pace.ts';
import { type Resource, readable } from './resource.ts';
import type { RequestInfo } from './scope.ts';
import { type ListPage, pageAt, pageNow, type Reading } from './snapshot.ts';

/** How long a read waits for a revision that has not arrived yet, in milliseconds. */
const futureWait = 3_000;

export interface ListResult extends ListPage {
  /** The JSON of the list's metadata. */
  readonly meta: string;
}

/** Lists objects. With a selector, others may run while the objects are read. */
export async function list(cache: WatchCache, resource: Resource, info: RequestInfo, reading: Reading): Promise<ListResult> {
  const { pace } = reading;
  const options = parseListOptions(info.query);
  const errors = validateListOptions(options);
  if (errors.length > 0) throw invalidOptions('ListOptions', errors);
  const filter = filterOf(resource, info);
  // With "0", any state will do: the cache returns all of it, since such clients do not want pages.
  const limit = options.resourceVersion === '0' ? 0 : shared(resource, Math.max(0, options.limit ?? 0));
  const request = { resource, filter, limit, reading };
  if (options.continue)
    return described(await nextPage(cache, { ...request, token: options.continue, asked: options.resourceVersion ?? '' }));
  const revision = parseRevision(options.resourceVersion ?? '', (why) => status.badRequest(`invalid resource version: ${why}`));
  if (revision === undefined) {
    await fresh(cache);
    const converting = selectable(cache, resource, { filter, pace });
    if (converting !== undefined) await converting;
    pace.resume();
    return described(await pace.run(pageNow(cache, { ...request, after: '' })));
  }
  if (revision > 0) await untilSeen(cache, revision);
  const converting = selectable(cache, resource, { filter, pace });
  if (converting !== undefined) await converting;
  // A limit with a revision and no match rule has always meant that exact revision.
  const exact = options.resourceVersionMatch === 'Exact' || (revision > 0 && limit > 0 && !options.resourceVersionMatch);
  pace.resume();
  const page = exact
    ? pageAt(cache, revision, { request: { ...request, after: '' }, reading })
    : pace.run(pageNow(cache, { ...request, after: '' }));
  return described(await page);
}

/** The number of objects in a page if each is served in several workspaces. */
function shared({ origin }: Resource, limit: number): number {
  return origin === undefined || limit === 0 ? limit : Math.max(1, Math.floor(limit / Math.max(1, origin.consumers().length)));
}

/** Converts the objects that a selector will read, if that cannot be done synchronously. */
export function selectable(
  cache: WatchCache,
  resource: Resource,
  { filter: { selects, prefix }, pace }: { readonly filter: Filter; readonly pace: Pace },
): Promise<void> | undefined {
  if (selects === undefined || resource.storage.convert?.ahead === undefined) return undefined;
  const entries: CacheEntry[] = [];
  cache.resource(resource.storage).entries.walk(prefix, endOf(prefix), (entry) => {
    entries.push(entry);
    return true;
  });
  return readable(resource, entries, pace);
}

/** Waits until the cache has everything written before this call. */
export async function fresh(cache: WatchCache): Promise<void> {
  const seen = cache.atLeast(await cache.store.currentRevision());
  if (seen !== undefined) await seen;
}

/** Waits for a revision that the client has seen elsewhere; throws if it does not arrive. */
export async function untilSeen(cache: WatchCache, revision: number): Promise<void> {
  if (await isSeen(cache, revision)) return;
  throw status.timeout(`Too large resource version: ${revision}, current: ${cache.revision}`, 1, [
    { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' },
  ]);
}

/** Waits for a revision that the client has seen elsewhere; false if it does not arrive. */
export async function isSeen(cache: WatchCache, revision: number): Promise<boolean> {
  const seen = cache.atLeast(revision);
  if (seen === undefined) return true;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), futureWait);
  });
  const outcome = await Promise.race([seen, late]);
  clearTimeout(timer);
  return outcome !== 'late';
}

/** Undefined if none was given. */
export function parseRevision(text: string, refuse: (why: string) => StatusError): number | undefined {
  if (text === '') return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const why = /^\d+$/.test(text) && BigInt(text) > 2n ** 64n - 1n ? 'value out of range' : 'invalid syntax';
  if (/^\d+$/.test(text) && why === 'invalid syntax') return Number.MAX_SAFE_INTEGER;
  throw refuse(`resourceVersion: Invalid value: ${fieldError.quote(text)}: strconv.ParseUint: parsing ${fieldError.quote(text)}: ${why}`);
}

async function nextPage(
  cache: WatchCache,
  request: { resource: Resource; filter: Filter; limit: number; reading: Reading; token: string; asked: string },
): Promise<ListPage> {
  if (request.asked !== '' && request.asked !== '0') {
    throw status.badRequest('specifying resource version is not allowed when using continue');
  }
  const { revision, after } = decodeToken(request.token);
  if (revision < 0) {
    await fresh(cache);
    request.reading.pace.resume();
    return request.reading.pace.run(pageNow(cache, { ...request, after }));
  }
  await untilSeen(cache, revision);
  request.reading.pace.resume();
  return pageAt(cache, revision, { request: { ...request, after }, reading: request.reading });
}

function described(page: ListPage): ListResult {
  const meta: Record<string, unknown> = { resourceVersion: String(page.revision) };
  if (page.after !== undefined) {
    meta['continue'] = encodeToken({ revision: page.revision, after: page.after });
    if (page.remaining !== undefined) meta['remainingItemCount'] = page.remaining;
  }
  return { ...page, meta: JSON.stringify(meta) };
}
