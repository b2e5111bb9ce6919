import { expect, test } from 'vitest';
import { CacheEntry } from '../cache/entry.ts';
import { SortedMap } from '../cache/sorted-map.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { builtinCatalog } from './catalog.ts';
import { pageNow } from './snapshot.ts';

const resource = builtinCatalog().resource('', 'v1', 'configmaps')!;

/** A cache of configmaps `a/x/0`, `a/x/1`… of about this many characters each. */
function cacheOf(count: number, size: number): { cache: WatchCache; entries: SortedMap<CacheEntry>; set: (name: string) => void } {
  const entries = new SortedMap<CacheEntry>();
  const set = (name: string): void => entries.set(new CacheEntry(`a/x/${name}`, `{"metadata":{}}${' '.repeat(size)}`, 1));
  for (let index = 0; index < count; index++) set(String(index));
  return { cache: { revision: 1, resource: () => ({ entries }) } as unknown as WatchCache, entries, set };
}

const filterOf = (selects: ((entry: CacheEntry) => boolean) | undefined) => ({ prefix: 'a/', selects, through: [], key: '' });

test('a selector reads large objects in parts, and sees the state of the first part', () => {
  const { cache, set } = cacheOf(10, 1 << 20);
  const parts = pageNow(cache, { resource, filter: filterOf(({ key }) => !key.endsWith('3')), after: '', limit: 0 });
  let count = 0;
  let part = parts.next();
  for (; part.done !== true; part = parts.next()) {
    count++;
    set(`later-${count}`);
  }
  expect(count).toBe(10);
  expect(part.value.revision).toBe(1);
  expect(part.value.entries.map(({ key }) => key.slice('a/x/'.length))).toEqual(['0', '1', '2', '4', '5', '6', '7', '8', '9']);
});

test('a selector reads a few small objects at once', () => {
  const { cache } = cacheOf(100, 100);
  const { done, value } = pageNow(cache, { resource, filter: filterOf(() => true), after: '', limit: 10 }).next();
  expect([done, value?.entries.length, value?.after]).toEqual([true, 10, 'x/17']);
});
