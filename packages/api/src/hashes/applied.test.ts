import type { JsonObject, KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { renewed, withApplied } from './applied.ts';

const kinds = 'capstan.dev/built-in-kinds';
const type = (spec: JsonObject, annotations: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { name: 'project', annotations },
  spec,
});
const written = (spec: JsonObject, annotations?: Record<string, string>): KubeObject => withApplied(type(spec, annotations));
const edited = (object: KubeObject, spec: JsonObject): KubeObject => ({ ...object, spec: { ...(object['spec'] as JsonObject), ...spec } });

describe('a type that a former version wrote', () => {
  test('stays if nothing is new', () => {
    expect(renewed(written({ a: { x: 1, y: 2 } }), written({ a: { y: 2, x: 1 } }))).toBeUndefined();
  });

  test.each([
    ['gets new parts', written({ a: 1 }), written({ a: 1, b: 2 }), { a: 1, b: 2 }],
    ['gets changed parts', written({ a: 1 }), written({ a: 2 }), { a: 2 }],
    ['loses parts that no longer belong to it', written({ a: 1, b: 2 }), written({ a: 1 }), { a: 1 }],
    ['keeps parts that its owner changed', edited(written({ a: 1, b: 1 }), { a: 9 }), written({ a: 2, b: 2 }), { a: 9, b: 2 }],
    ['keeps parts that its owner added', edited(written({ a: 1 }), { c: 3 }), written({ a: 2 }), { a: 2, c: 3 }],
    [
      'keeps parts that its owner added, even if they become ours',
      edited(written({ a: 1 }), { c: 3 }),
      written({ a: 1, c: 4 }),
      { a: 1, c: 3 },
    ],
    ['without a record gets what it lacks', type({ a: 1 }), written({ a: 2, b: 2 }), { a: 1, b: 2 }],
  ])('%s', (_what, existing, wanted, spec) => {
    expect(renewed(existing, wanted)?.['spec']).toEqual(spec);
  });

  test('does not get back a part that its owner removed', () => {
    const { a: _, ...rest } = written({ a: 1, b: 1 })['spec'] as { a: number; b: number };
    const existing = { ...written({ a: 1, b: 1 }), spec: rest };
    expect(renewed(existing, written({ a: 1, b: 2 }))?.['spec']).toEqual({ b: 2 });
  });

  test('gets annotations that belong to its content, and keeps all others', () => {
    const existing = written({}, { other: 'x' });
    const after = renewed(existing, written({}, { [kinds]: 'pods' }))!;
    expect(after.metadata.annotations).toMatchObject({ other: 'x', [kinds]: 'pods' });
    expect(renewed(after, written({}, { [kinds]: 'pods' }))).toBeUndefined();
    expect(renewed(after, written({}))?.metadata.annotations).not.toHaveProperty([kinds]);
  });
});
