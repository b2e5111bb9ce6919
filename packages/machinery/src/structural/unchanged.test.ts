import { describe, expect, test } from 'vitest';
import { compileSchema } from './compiled.ts';
import { oldItems } from './unchanged.ts';

const item = { type: 'object', properties: { group: { type: 'string' }, name: { type: 'string' } } };
const list = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['group', 'name'], items: item };
const { schema } = compileSchema({ type: 'object', properties: { list } });

describe('an item of a list with keys', () => {
  const before = oldItems([{ group: 'a', name: 'x' }, { name: 'y' }], schema.properties.get('list')!);

  test('is the one that had the same keys', () => {
    expect(before({ group: 'a', name: 'x' })).toEqual({ group: 'a', name: 'x' });
    expect(before({ group: 'b', name: 'x' })).toBeUndefined();
  });

  test('is none of those before when it lacks a key, though they lack it too', () => {
    expect(before({ name: 'y' })).toBeUndefined();
  });
});
