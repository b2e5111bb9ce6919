import { describe, expect, test } from 'vitest';
import { compileSchema } from './compiled.ts';
import { oldItems } from './unchanged.ts';

const item = { type: 'object', properties: { group: { type: 'string' }, name: { type: 'string' } } };
const list = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['group', 'name'], items: item };
const { schema } = compileSchema({ type: 'object', properties: { list } });

describe('the old item of a keyed list', () => {
  const before = oldItems([{ group: 'a', name: 'x' }, { name: 'y' }], schema.properties.get('list')!);

  test('is the one with the same keys', () => {
    expect(before({ group: 'a', name: 'x' })).toEqual({ group: 'a', name: 'x' });
    expect(before({ group: 'b', name: 'x' })).toBeUndefined();
  });

  test('is undefined for an item without a key, even if old items lack it too', () => {
    expect(before({ name: 'y' })).toBeUndefined();
  });
});
