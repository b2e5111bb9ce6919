import fc from 'fast-check';
import { expect, it } from 'vitest';
import { endOf, etcdRevisionOf, etcdRevisionWithin, isEnd, positionIn, positionOf, positions, revisionAt } from './revisions.ts';

it('never changes the position of a key', () => {
  const keys = ['', '/a', '/registry/root/core/configmaps/default/a', '/registry/root/core/configmaps/default/b', '/\u{1f680}'];
  expect(keys.map(positionOf)).toEqual([923, 905, 352, 849, 40]);
});

it('spreads similar keys over the positions', () => {
  const taken = new Set(Array.from({ length: 100 }, (_, index) => positionOf(`/registry/root/core/configmaps/default/object-${index}`)));
  // By chance about 95 of 100 differ.
  expect(taken.size).toBeGreaterThan(85);
});

it('splits a revision into its parts', () => {
  const newest = Math.floor(Number.MAX_SAFE_INTEGER / positions) - 1;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: newest }), fc.integer({ min: 0, max: positions - 1 }), (etcdRevision, position) => {
      const revision = revisionAt(etcdRevision, position);
      expect(Number.isSafeInteger(revision)).toBe(true);
      expect(etcdRevisionOf(revision)).toBe(etcdRevision);
      expect(positionIn(revision)).toBe(position);
      expect(revision).toBeGreaterThan(endOf(etcdRevision - 1));
      expect(revision).toBeLessThanOrEqual(endOf(etcdRevision));
      expect(endOf(etcdRevisionWithin(revision))).toBeLessThanOrEqual(revision);
      expect(endOf(etcdRevisionWithin(revision) + 1)).toBeGreaterThan(revision);
      expect(isEnd(revision)).toBe(revision === endOf(etcdRevision));
    }),
  );
});
