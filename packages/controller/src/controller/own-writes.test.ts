import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { OwnWrites } from './own-writes.ts';

const at = (resourceVersion: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', resourceVersion, ...metadata },
});

describe('OwnWrites', () => {
  test('holds an object back until its copy has the write or something newer', () => {
    const writes = new OwnWrites();
    writes.note('a', at('10'), at('7'));
    expect(writes.isBehind('a', at('7'))).toBe(true);
    expect(writes.isBehind('a', at('9'))).toBe(true);
    expect(writes.isBehind('a', at('10'))).toBe(false);
    expect(writes.isBehind('a', at('9'))).toBe(false);
  });

  test('does not hold other objects back', () => {
    const writes = new OwnWrites();
    writes.note('a', at('10'), at('7'));
    expect(writes.isBehind('b', at('7'))).toBe(false);
  });

  test('lets the object through once it was deleted', () => {
    const writes = new OwnWrites();
    writes.note('a', at('10'), at('7'));
    expect(writes.isBehind('a', undefined)).toBe(false);
  });

  test.each([
    ['the copy already has it', at('10'), at('10')],
    ['the object is in no copy', at('10'), undefined],
    ['it may be the end of an object that is being deleted', at('10', { deletionTimestamp: '2026-01-01T00:00:00Z' }), at('7')],
    ['versions are not numbers', at('b'), at('a')],
  ])('ignores a write if %s', (_why, written, copy) => {
    const writes = new OwnWrites();
    writes.note('a', written, copy);
    expect(writes.isBehind('a', at('7'))).toBe(false);
  });

  test('says when an object that became due meanwhile can be reconciled', () => {
    const writes = new OwnWrites();
    writes.note('a', at('10'), at('7'));
    expect(writes.isBehind('a', at('7'))).toBe(true);
    expect(writes.arrives('a', at('8'))).toBe(false);
    expect(writes.arrives('a', at('10'))).toBe(true);
    expect(writes.arrives('a', at('11'))).toBe(false);
  });

  test('asks for no reconcile if the object was not due', () => {
    const writes = new OwnWrites();
    writes.note('a', at('10'), at('7'));
    expect(writes.arrives('a', at('10'))).toBe(false);
    writes.note('a', at('12'), at('10'));
    expect(writes.isBehind('a', at('10'))).toBe(true);
    expect(writes.arrives('a', undefined)).toBe(true);
  });
});
