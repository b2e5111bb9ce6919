import { type Parts, status } from '@capstan/machinery';
import { type Store, StoreError } from '@capstan/store';
import { CacheEntry } from '../cache/entry.ts';
import { means } from '../cache/unions.ts';
import { endOf, parseStoreKey, type ResourceCache, registryRange, type WatchCache } from '../cache/watch-cache.ts';
import { encodeToken } from './continue-token.ts';
import type { Filter } from './filter.ts';
import type { Pace } from './pace.ts';
import type { Resource } from './resource.ts';

export interface ListPage {
  readonly revision: number;
  readonly entries: CacheEntry[];
  /** The last key below the prefix that was visited, if there is more. */
  readonly after: string | undefined;
  /** How many objects follow; only known without a selector. */
  readonly remaining: number | undefined;
}

interface PageRequest {
  readonly resource: Resource;
  readonly filter: Filter;
  readonly after: string;
  readonly limit: number;
}

/** A page of the current state, as of the first part: the entries of the cache never change. */
export function* pageNow(cache: WatchCache, { resource, filter, after, limit }: PageRequest): Parts<ListPage> {
  const { revision } = cache;
  const { entries } = cache.resource(resource.storage);
  const start = after === '' ? filter.prefix : `${filter.prefix}${after}\0`;
  const end = endOf(filter.prefix);
  const { selects } = filter;
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  const found: CacheEntry[] = [];
  let more = false;
  entries.walk(start, end, (entry) => {
    // With a selector, all are candidates.
    if (selects === undefined && found.length === most) more = true;
    else found.push(entry);
    return !more;
  });
  if (selects !== undefined) return finish(filter, yield* selected(found, selects, most), { revision, count: () => 0 });
  return finish(filter, { found, more }, { revision, count: () => entries.count(`${found.at(-1)!.key}\0`, end) });
}

/** Characters of objects that a selector reads at once. It has to parse some of them. */
const mostAtOnce = 128 << 10;
/** The cost of an object of which nothing has to be read, in characters. */
const leastCost = 64;

/** The first objects that a selector selects, in parts. */
function* selected(entries: readonly CacheEntry[], selects: NonNullable<Filter['selects']>, most: number): Parts<Found> {
  const found: CacheEntry[] = [];
  let read = 0;
  for (const entry of entries) {
    read += leastCost + entry.text.length;
    if (selects(entry)) {
      if (found.length === most) return { found, more: true };
      found.push(entry);
    }
    if (read < mostAtOnce) continue;
    read = 0;
    yield;
  }
  return { found, more: false };
}

/** How a read at an earlier revision goes on. */
export interface Reading {
  readonly pace: Pace;
  /** Counts bytes that only this request holds in memory. Throws if they are too many. */
  readonly hold?: ((bytes: number) => void) | undefined;
}

/** A page of the state at an earlier revision: from the event ring if it reaches back that far, otherwise from the store. */
export async function pageAt(
  cache: WatchCache,
  revision: number,
  { request, reading }: { request: PageRequest; reading: Reading },
): Promise<ListPage> {
  if (revision < cache.oldest) throw expiredPage(request.after);
  const held = cache.resource(request.resource.storage);
  const { filter, limit } = request;
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  const { entries, total, isSelected } =
    held.ring.after <= revision ? undo(held, revision, request) : await fromStore(cache.store, revision, { request, reading });
  const page =
    filter.selects === undefined || isSelected
      ? { found: entries.length > most ? entries.slice(0, most) : entries, more: entries.length > most }
      : await reading.pace.run(selected(entries, filter.selects, most));
  return finish(filter, page, { revision, count: () => total - page.found.length });
}

interface Found {
  readonly found: CacheEntry[];
  /** Whether the page is full and there are more. */
  readonly more: boolean;
}

function finish(filter: Filter, { found: entries, more }: Found, rest: { revision: number; count: () => number }): ListPage {
  if (!more) return { revision: rest.revision, entries, after: undefined, remaining: undefined };
  const after = entries.at(-1)!.key.slice(filter.prefix.length);
  return { revision: rest.revision, entries, after, remaining: filter.selects === undefined ? rest.count() : undefined };
}

/** The first objects of an earlier revision. */
interface Past {
  /** One more than the page has, if there are so many. All of them if a selector has yet to choose among them. */
  readonly entries: CacheEntry[];
  readonly isSelected: boolean;
  /** How many there are. Only meant for pages without a selector. */
  readonly total: number;
}

/** The content of the cache at the revision: for every key changed since, its value before the first change. */
function undo(held: ResourceCache, revision: number, { filter, after, limit }: PageRequest): Past {
  const start = after === '' ? filter.prefix : `${filter.prefix}${after}\0`;
  const end = endOf(filter.prefix);
  const before = new Map<string, CacheEntry | undefined>();
  for (const { entry, previous } of held.ring.since(revision))
    if (entry.key >= start && entry.key < end && !before.has(entry.key)) before.set(entry.key, previous);
  const restored = [...before.values()].filter((entry) => entry !== undefined).sort((a, b) => (a.key < b.key ? -1 : 1));
  const most = limit === 0 || filter.selects !== undefined ? Number.POSITIVE_INFINITY : limit + 1;
  const entries: CacheEntry[] = [];
  let next = 0;
  const restoreUpTo = (key: string): void => {
    while (next < restored.length && restored[next]!.key < key && entries.length < most) entries.push(restored[next++]!);
  };
  held.entries.walk(start, end, (entry) => {
    restoreUpTo(entry.key);
    if (entries.length < most && !before.has(entry.key)) entries.push(entry);
    return entries.length < most;
  });
  restoreUpTo(end);
  let changed = 0;
  for (const key of before.keys()) if (held.entries.get(key) !== undefined) changed++;
  return { entries, isSelected: false, total: held.entries.count(start, end) - changed + restored.length };
}

/** How many objects are read from the store at first, how many at most, and how many characters they should have together. */
const portions = { first: 16, most: 2_000, characters: 4 << 20 };

/** Reads in portions, so that a request holds no more than it shows, as far as its limit and its share of memory go. */
async function fromStore(
  store: Store,
  revision: number,
  { request: { resource, filter, after, limit }, reading: { pace, hold } }: { request: PageRequest; reading: Reading },
): Promise<Past> {
  const range = storeRange(resource, filter.prefix);
  const isMeant = storedAs(resource);
  const { selects, prefix } = filter;
  // Across all workspaces, keys are not in the order of the store: the start of the page is found by key, and its end by reading all.
  const isOrdered = prefix !== '';
  const most = limit === 0 || !isOrdered ? Number.POSITIVE_INFINITY : limit + 1;
  const entries: CacheEntry[] = [];
  let portion = portions.first;
  let start = after === '' || !isOrdered ? range.start : `${range.start}${after}\0`;
  try {
    for (;;) {
      const wanted = selects === undefined ? Math.min(portion, most - entries.length) : portion;
      const page = await store.list({ start, end: range.end }, { revision, limit: wanted });
      let found: CacheEntry[] = [];
      let characters = 0;
      for (const { key, value, revision: at } of page.entries) {
        characters += value.length;
        const place = parseStoreKey(key);
        if (isMeant(place.resource) && (isOrdered || place.key > after)) found.push(CacheEntry.stored(place.key, value, at));
      }
      if (selects !== undefined) found = (await pace.run(selected(found, selects, Number.POSITIVE_INFINITY))).found;
      hold?.(found.reduce((sum, { text }) => sum + text.length, 0));
      for (const entry of found) entries.push(entry);
      const last = page.entries.at(-1);
      if (last === undefined || page.remaining === 0 || entries.length >= most)
        return { entries, isSelected: true, total: entries.length + page.remaining };
      start = `${last.key}\0`;
      portion = Math.max(
        portions.first,
        Math.min(portions.most, Math.floor((portions.characters * page.entries.length) / (characters + 1))),
      );
      const pausing = pace.pause();
      if (pausing !== undefined) await pausing;
    }
  } catch (error) {
    if (error instanceof StoreError && error.code === 'compacted') throw expiredPage(after);
    throw error;
  }
}

/** Distinguishes objects of the resource from others in the same range of the store. */
export function storedAs({ storage: { group, resource } }: Resource): (stored: string) => boolean {
  const name = `${group === '' ? 'core' : group}/${resource}`;
  return (stored) => means(name, stored);
}

/** The range in the store for a prefix in the cache. Across all workspaces it contains other resources too. */
export function storeRange(resource: Resource, prefix: string): { start: string; end: string } {
  if (prefix === '') return registryRange;
  const slash = prefix.indexOf('/');
  const { group } = resource.storage;
  const start = `/registry/${prefix.slice(0, slash)}/${group === '' ? 'core' : group}/${resource.storage.resource}${prefix.slice(slash)}`;
  return { start, end: endOf(start) };
}

/** A paginated list outlived the history: the client may continue with the current state, or start again. */
function expiredPage(after: string): Error {
  if (after === '') return status.expired('The resourceVersion for the provided list is too old.');
  const error = status.expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
  );
  error.status.metadata.continue = encodeToken({ revision: -1, after });
  return error;
}
