import { describe, expect, test } from 'vitest';
import { type Lease, reconcileLease } from './reconcile.ts';

const renewed = Date.parse('2026-01-01T00:00:00Z');
const lease = (spec: Lease['spec'] & object): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'x' },
  spec,
});
const tenSeconds = lease({ renewTime: '2026-01-01T00:00:00.000000Z', leaseDurationSeconds: 10 });

describe('reconcileLease', () => {
  test.each([
    {
      name: 'waits until the lease expires',
      object: tenSeconds,
      now: renewed + 4_000,
      result: { type: 'requeueAfter', milliseconds: 6_000 },
      deleted: [],
    },
    { name: 'deletes an expired lease', object: tenSeconds, now: renewed + 11_000, result: { type: 'done' }, deleted: ['x'] },
    { name: 'deletes a lease without a duration', object: lease({}), now: renewed, result: { type: 'done' }, deleted: ['x'] },
    { name: 'ignores a lease that is gone', object: undefined, now: renewed, result: { type: 'done' }, deleted: [] },
  ])('$name', async ({ object, now, result, deleted }) => {
    const removed: string[] = [];
    const remove = async ({ metadata }: Lease): Promise<void> => void removed.push(metadata.name!);
    expect(await reconcileLease(object, { remove, now: () => now })).toEqual(result);
    expect(removed).toEqual(deleted);
  });
});
