import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { releaseUnused } from './release.ts';

const finalizer = 'kubernetes.io/pv-protection';
const deletionTimestamp = '2026-01-01T00:00:00Z';
const object = (metadata: Partial<KubeObject['metadata']>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name: 'x', ...metadata },
});

describe('releaseUnused', () => {
  test.each([
    {
      name: 'removes only its own finalizer from an unused object',
      given: object({ deletionTimestamp, finalizers: ['a', finalizer] }),
      used: false,
      type: 'done',
      finalizers: ['a'],
    },
    {
      name: 'checks an object in use again later',
      given: object({ deletionTimestamp, finalizers: [finalizer] }),
      used: true,
      type: 'requeueAfter',
      finalizers: undefined,
    },
    {
      name: 'leaves an object alone that is not being deleted',
      given: object({ finalizers: [finalizer] }),
      used: false,
      type: 'done',
      finalizers: undefined,
    },
    {
      name: 'leaves an object alone without its finalizer',
      given: object({ deletionTimestamp, finalizers: ['a'] }),
      used: false,
      type: 'done',
      finalizers: undefined,
    },
    { name: 'ignores an object that is gone', given: undefined, used: false, type: 'done', finalizers: undefined },
  ])('$name', async ({ given, used, type, finalizers }) => {
    let written: KubeObject | undefined;
    const update = async (changed: KubeObject): Promise<void> => void (written = changed);
    expect(await releaseUnused(given, finalizer, { isUsed: () => used, update })).toMatchObject({ type });
    expect(written?.metadata.finalizers).toEqual(finalizers);
  });
});
