import type { Store } from '@capstan/store';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CacheEntry } from '../cache/entry.ts';
import { EventRing } from '../cache/event-ring.ts';
import { SortedMap } from '../cache/sorted-map.ts';
import { ResourceCache, type WatchCache } from '../cache/watch-cache.ts';
import { builtinCatalog } from './catalog.ts';
import { Pace } from './pace.ts';
import { type ListPage, pageAt, pageNow } from './snapshot.ts';

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

const names = (page: ListPage): string[] => page.entries.map(({ key, revision }) => `${key.slice('a/x/'.length)}@${revision}`);

describe('a page of an earlier revision', () => {
  /** Objects `a/x/…` whose changes are all in the ring, and the state after each of them. */
  function changed(steps: readonly { readonly name: number; readonly isGone: boolean }[]): { held: ResourceCache; states: string[][] } {
    const held = new ResourceCache('core/configmaps', new EventRing({ after: 0, maxEvents: 10_000, maxBytes: 1 << 30 }));
    const states: string[][] = [[]];
    for (const [index, { name, isGone }] of steps.entries()) {
      const [revision, key] = [index + 1, `a/x/${String(name).padStart(2, '0')}`];
      const previous = held.entries.get(key);
      const entry = new CacheEntry(key, '{}', revision);
      if (isGone) held.entries.delete(key);
      else held.entries.set(entry);
      if (previous !== undefined || !isGone) {
        held.ring.push({ type: isGone ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED', revision, entry, previous });
      }
      const state: string[] = [];
      held.entries.walk('a/', 'b', (one) => state.push(`${one.key.slice('a/x/'.length)}@${one.revision}`) > 0);
      states.push(state);
    }
    return { held, states };
  }

  const at = (held: ResourceCache, revision: number, request: { after: string; limit: number; selects?: (entry: CacheEntry) => boolean }) =>
    pageAt({ oldest: 0, resource: () => held } as unknown as WatchCache, revision, {
      request: { resource, filter: filterOf(request.selects), after: request.after, limit: request.limit },
      reading: { pace: new Pace() },
    });

  test('shows what there was, in pages that know how much follows', async () => {
    const step = fc.record({ name: fc.nat(30), isGone: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(60), fc.integer({ min: 0, max: 5 }), async (steps, chosen, limit) => {
        const { held, states } = changed(steps);
        const revision = Math.min(chosen, steps.length);
        const expected = states[revision]!;
        const seen: string[] = [];
        for (let after: string | undefined = ''; after !== undefined; ) {
          const page: ListPage = await at(held, revision, { after, limit });
          seen.push(...names(page));
          if (page.after !== undefined) expect(page.remaining).toBe(expected.length - seen.length);
          after = page.after;
        }
        expect(seen).toEqual(expected);
        const selected = await at(held, revision, { after: '', limit: 0, selects: ({ key }) => key.endsWith('3') });
        expect(names(selected)).toEqual(expected.filter((name) => name.includes('3@')));
      }),
    );
  });

  test('looks at no more objects than it shows, and at the changes', async () => {
    const { held } = changed(Array.from({ length: 99 }, (_, name) => ({ name, isGone: false })));
    let visited = 0;
    const walk = held.entries.walk.bind(held.entries);
    held.entries.walk = (start, end, visit) => walk(start, end, (entry) => ++visited > 0 && visit(entry));
    expect(names(await at(held, 99, { after: 'x/04', limit: 3 }))).toEqual(['05@6', '06@7', '07@8']);
    expect(visited).toBe(4);
  });
});

describe('a page that only the store still has', () => {
  const text = (name: string, size: number): string => `{"metadata":{"resourceVersion":"","name":"${name}"}}${' '.repeat(size)}`;

  /** A store of as many ConfigMaps in `a/x`, which remembers how many it was asked for. */
  function storeOf(count: number, size: number): { store: Store; asked: number[]; given: () => number } {
    const asked: number[] = [];
    let given = 0;
    const all = Array.from({ length: count }, (_, index) => String(index).padStart(5, '0')).map((name) => ({
      key: `/registry/a/core/configmaps/x/${name}`,
      value: text(name, size),
      revision: 1,
      createRevision: 1,
    }));
    const list: Store['list'] = ({ start, end }, { limit = 0 } = {}) => {
      asked.push(limit);
      const following = all.filter(({ key }) => key >= start && key < end);
      const entries = following.slice(0, limit || undefined);
      given += entries.length;
      return Promise.resolve({ revision: 1, entries, remaining: following.length - entries.length });
    };
    return { store: { list } as Store, asked, given: () => given };
  }

  const at = (store: Store, request: { limit: number; selects?: (entry: CacheEntry) => boolean }, hold?: (bytes: number) => void) =>
    pageAt({ oldest: 0, store, resource: () => ({ ring: { after: 100 } }) } as unknown as WatchCache, 1, {
      request: { resource, filter: filterOf(request.selects), after: '', limit: request.limit },
      reading: { pace: new Pace(), hold },
    });

  test('takes no more from the store than it shows', async () => {
    const { store, given } = storeOf(5_000, 10);
    const page = await at(store, { limit: 50 });
    expect([page.entries.length, page.remaining, page.after]).toEqual([50, 4_950, 'x/00049']);
    expect(given()).toBe(51);
  });

  test('is read in portions, smaller ones of larger objects, and as a whole without a limit', async () => {
    const { store, asked } = storeOf(5_000, 10);
    const page = await at(store, { limit: 0 });
    expect([page.entries.length, page.after]).toEqual([5_000, undefined]);
    expect(Math.max(...asked)).toBe(2_000);
    const large = storeOf(100, 1 << 18);
    expect((await at(large.store, { limit: 0 })).entries).toHaveLength(100);
    expect(new Set(large.asked)).toEqual(new Set([16]));
  });

  test('holds only what a selector selects', async () => {
    const { store } = storeOf(3_000, 1_000);
    let held = 0;
    const page = await at(store, { limit: 2, selects: ({ key }) => key.endsWith('77') }, (bytes) => (held += bytes));
    expect(page.entries.map(({ key }) => key)).toEqual(['a/x/00077', 'a/x/00177']);
    expect(held).toBeLessThan(50_000);
  });

  test('ends when its sender holds too much', async () => {
    const { store, given } = storeOf(5_000, 1_000);
    let held = 0;
    const hold = (bytes: number): void => {
      held += bytes;
      if (held > 50_000) throw new Error('too much');
    };
    await expect(at(store, { limit: 0 }, hold)).rejects.toThrow('too much');
    expect(given()).toBeLessThan(5_000);
  });
});
