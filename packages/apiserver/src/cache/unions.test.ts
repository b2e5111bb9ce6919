import { expect, test } from 'vitest';
import { CacheEntry } from './entry.ts';
import { type CacheEvent, EventRing } from './event-ring.ts';
import { means, Unions } from './unions.ts';
import { ResourceCache } from './watch-cache.ts';

const cacheNamed = (name: string): ResourceCache => new ResourceCache(name, new EventRing({ after: 0, maxEvents: 100, maxBytes: 1 << 20 }));

const added = (key: string, revision: number): CacheEvent => ({
  type: 'ADDED',
  revision,
  entry: new CacheEntry(key, '{}', revision),
  previous: undefined,
});

test.each([
  ['g/things*', 'g/things', true],
  ['g/things*', 'g/things:identity', true],
  ['g/things*', 'g/thingsandmore', false],
  ['g/things', 'g/things', true],
  ['g/things', 'g/things:identity', false],
])('%s matches %s: %s', (name, stored, expected) => expect(means(name, stored)).toBe(expected));

test('delivers the events of one commit in several parts in order', () => {
  const unions = new Unions();
  const union = unions.add(cacheNamed('g/things*'), []);
  const told: number[][] = [];
  union.listeners.add({ changed: (events) => told.push(events.map(({ revision }) => revision)) });
  unions.apply([
    { stored: 'g/things:one', event: added('a//x', 10) },
    { stored: 'g/things:two', event: added('b//x', 11) },
    { stored: 'g/others', event: added('a//y', 12) },
    { stored: 'g/things:one', event: added('a//z', 13) },
  ]);
  expect(told).toEqual([[10, 11, 13]]);
  expect(union.ring.since(10).map(({ revision }) => revision)).toEqual([11, 13]);
});

test('does not notify listeners of commits without events for the union', () => {
  const unions = new Unions();
  const union = unions.add(cacheNamed('g/things*'), []);
  let calls = 0;
  union.listeners.add({ changed: () => void calls++ });
  unions.apply([{ stored: 'g/others', event: added('a//y', 12) }]);
  expect(calls).toBe(0);
});
