import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { reconcileCopy } from './reconcile.ts';

const created = Date.parse('2026-01-01T00:00:00Z');
const minute = 60_000;
const copy: KubeObject = { apiVersion: '', kind: '', metadata: { name: 'c', creationTimestamp: '2026-01-01T00:00:00Z' } };

describe('reconcileCopy', () => {
  test.each([
    { name: 'deletes an old copy that nobody uses', given: copy, used: false, minutes: 30, result: { type: 'done' }, deleted: ['c'] },
    { name: 'keeps a copy that a binding uses', given: copy, used: true, minutes: 60, result: { type: 'done' }, deleted: [] },
    {
      name: 'keeps a new copy for half an hour',
      given: copy,
      used: false,
      minutes: 10,
      result: { type: 'requeueAfter', milliseconds: 20 * minute },
      deleted: [],
    },
    { name: 'ignores a copy that is gone', given: undefined, used: false, minutes: 60, result: { type: 'done' }, deleted: [] },
  ])('$name', async ({ given, used, minutes, result, deleted }) => {
    const removed: string[] = [];
    const remove = async ({ metadata }: KubeObject): Promise<void> => void removed.push(metadata.name!);
    expect(await reconcileCopy(given, { isUsed: () => used, remove, now: () => created + minutes * minute })).toEqual(result);
    expect(removed).toEqual(deleted);
  });
});
