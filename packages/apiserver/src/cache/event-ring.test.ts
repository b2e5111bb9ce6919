import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CacheEntry } from './entry.ts';
import { EventRing } from './event-ring.ts';

const event = (revision: number, text = '{}') =>
  ({ type: 'MODIFIED', revision, entry: new CacheEntry('k', text, revision), previous: new CacheEntry('k', text, revision - 1) }) as const;

test('returns every event after a revision that it covers, once and in order', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 2000 }), fc.nat(), (count, maxEvents, pick) => {
      const ring = new EventRing({ after: 100, maxEvents, maxBytes: 1 << 30 });
      for (let at = 1; at <= count; at++) ring.push(event(100 + at));
      expect(ring.after).toBe(100 + Math.max(0, count - maxEvents));
      const from = ring.after + (pick % (count + 1));
      const expected = Array.from({ length: Math.max(0, 100 + count - from) }, (_, at) => from + 1 + at);
      expect(ring.since(from).map(({ revision }) => revision)).toEqual(expected);
    }),
  );
});

test('evicts old events when the texts they hold are too large', () => {
  const ring = new EventRing({ after: 0, maxEvents: 1000, maxBytes: 10_000 });
  for (let revision = 1; revision <= 100; revision++) ring.push(event(revision, 'x'.repeat(1000)));
  expect(ring.since(ring.after).length).toBeLessThan(10);
  expect(ring.since(ring.after).at(-1)!.revision).toBe(100);
});

test('drops events up to a revision and keeps the rest', () => {
  const ring = new EventRing({ after: 0, maxEvents: 1000, maxBytes: 1 << 20 });
  for (let revision = 1; revision <= 100; revision++) ring.push(event(revision));
  expect(ring.forget(40)).toBe(40);
  expect(ring.after).toBe(40);
  expect(ring.since(40).map(({ revision }) => revision)).toEqual(Array.from({ length: 60 }, (_, at) => 41 + at));
  // Going beyond the newest event drops only the events that exist.
  expect(ring.forget(1_000)).toBe(60);
  expect(ring.forget(2_000)).toBe(0);
  expect(ring.after).toBe(100);
});
