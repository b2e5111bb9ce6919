import { describe, expect, test } from 'vitest';
import { type BootstrapToken, reconcileToken } from './reconcile.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const hour = 3_600_000;
const token = (expiration?: string): BootstrapToken => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 't' },
  ...(expiration !== undefined && { data: { expiration: Buffer.from(expiration).toString('base64') } }),
});

describe('reconcileToken', () => {
  test.each([
    { name: 'deletes a token that has expired', given: token('2026-01-01T00:00:00Z'), result: { type: 'done' }, deleted: ['t'] },
    { name: 'deletes a token whose expiration is no time', given: token('tomorrow'), result: { type: 'done' }, deleted: ['t'] },
    {
      name: 'waits until a token expires',
      given: token('2026-01-01T00:00:05Z'),
      result: { type: 'requeueAfter', milliseconds: 5_000 },
      deleted: [],
    },
    {
      name: 'waits an hour at most',
      given: token('2027-01-01T00:00:00Z'),
      result: { type: 'requeueAfter', milliseconds: hour },
      deleted: [],
    },
    { name: 'keeps a token without an expiration', given: token(), result: { type: 'done' }, deleted: [] },
    { name: 'ignores a token that is gone', given: undefined, result: { type: 'done' }, deleted: [] },
  ])('$name', async ({ given, result, deleted }) => {
    const removed: string[] = [];
    const remove = async ({ metadata }: BootstrapToken): Promise<void> => void removed.push(metadata.name!);
    expect(await reconcileToken(given, { remove, now: () => now })).toEqual(result);
    expect(removed).toEqual(deleted);
  });
});
