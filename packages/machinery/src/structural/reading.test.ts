import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../json.ts';
import { compileSchema } from './compiled.ts';

const schema = compileSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        known: { type: 'string' },
        map: { type: 'object', additionalProperties: { type: 'object', properties: { a: { type: 'string', default: 'A' } } } },
        open: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { inner: { type: 'object', properties: { a: { type: 'string' } } } },
        },
        list: { type: 'array', items: { type: 'object', properties: { a: { type: 'integer', default: 1 } } } },
        word: { type: 'string', default: 'hello' },
        maybe: { type: 'string', nullable: true, default: 'hello' },
        part: { type: 'object', default: {}, properties: { deep: { type: 'integer', default: 7 } } },
        embedded: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
      },
    },
  },
});

function pruned(spec: JsonObject): [unknown, string[]] {
  const object: JsonObject = { apiVersion: 'g/v1', kind: 'K', metadata: { name: 'a' }, spec };
  const unknown = schema.prune(object);
  return [object['spec'], unknown];
}

describe('pruning', () => {
  it.each<[string, JsonObject, JsonObject, string[]]>([
    ['keeps known fields', { known: 'a' }, { known: 'a' }, []],
    ['drops unknown fields and reports their paths', { nope: 1, list: [{ b: 1 }] }, { list: [{}] }, ['spec.list[0].b', 'spec.nope']],
    ['keeps every key of a map', { map: { k: { a: 'x', b: 1 } } }, { map: { k: { a: 'x' } } }, ['spec.map.k.b']],
    [
      'keeps unknown fields where the schema preserves them, and prunes known ones there',
      { open: { x: { y: 1 }, inner: { a: 'x', b: 1 } } },
      { open: { x: { y: 1 }, inner: { a: 'x' } } },
      ['spec.open.inner.b'],
    ],
    [
      'keeps the fields that every resource has',
      { embedded: { apiVersion: 'v1', kind: 'X', metadata: { name: 'a' }, other: 1 } },
      { embedded: { apiVersion: 'v1', kind: 'X', metadata: { name: 'a' } } },
      ['spec.embedded.other'],
    ],
    ['drops nulls that are not allowed', { known: null, maybe: null, word: null }, { maybe: null, word: null }, []],
  ])('%s', (_, spec, kept, unknown) => {
    expect(pruned(spec)).toEqual([kept, unknown]);
  });

  it('treats keys such as __proto__ as plain keys', () => {
    const object = JSON.parse('{"spec":{"__proto__":{"known":"x"},"constructor":1,"map":{"__proto__":{"a":"x"}}}}') as JsonObject;
    expect(schema.prune(object)).toEqual(['spec.__proto__', 'spec.constructor']);
    expect(JSON.stringify(object)).toBe('{"spec":{"map":{"__proto__":{"a":"x"}}}}');
  });
});

describe('defaulting', () => {
  it('fills only known fields into the metadata of embedded resources', () => {
    const text = (value: string): JsonObject => ({ type: 'string', default: value });
    const resource = (parts: JsonObject): JsonObject => ({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      ...parts,
    });
    const metadata = { name: 'a', unknown: 'x' };
    const resources = compileSchema({
      type: 'object',
      properties: {
        fields: resource({ properties: { metadata: { type: 'object', properties: { name: text('a'), unknown: text('x') } } } }),
        whole: resource({ properties: { metadata: { type: 'object', default: metadata } } }),
        object: resource({ default: { kind: 'Foo', metadata, unknown: 'kept' } }),
        spanning: { type: 'object', properties: { inner: resource({}) }, default: { inner: { metadata } } },
      },
    });
    const object: JsonObject = { fields: { metadata: {} }, whole: {} };
    resources.applyDefaults(object);
    expect(object).toEqual({
      fields: { metadata: { name: 'a' } },
      whole: { metadata: { name: 'a' } },
      object: { kind: 'Foo', metadata: { name: 'a' }, unknown: 'kept' },
      spanning: { inner: { metadata: { name: 'a' } } },
    });
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['fills in absent fields, recursively', { embedded: {} }, { embedded: {}, word: 'hello', maybe: 'hello', part: { deep: 7 } }],
    ['treats null as absent where it is not allowed', { word: null, maybe: null }, { word: 'hello', maybe: null, part: { deep: 7 } }],
    [
      'descends into lists and maps',
      { list: [{}], map: { k: {} } },
      { list: [{ a: 1 }], map: { k: { a: 'A' } }, word: 'hello', maybe: 'hello', part: { deep: 7 } },
    ],
  ])('%s', (_, spec, filled) => {
    const object: JsonObject = { spec };
    schema.applyDefaults(object);
    expect(object).toEqual({ spec: filled });
  });

  it('does not share a default between objects', () => {
    const [one, other]: JsonObject[] = [{ spec: {} }, { spec: {} }];
    schema.applyDefaults(one!);
    schema.applyDefaults(other!);
    ((one!['spec'] as JsonObject)['part'] as JsonObject)['deep'] = 8;
    expect((other!['spec'] as JsonObject)['part']).toEqual({ deep: 7 });
  });
});

describe('compiled schemas', () => {
  it('are shared by everyone with the same text', () => {
    const json = { type: 'object', description: 'one of a kind' };
    expect(compileSchema(json)).toBe(compileSchema({ ...json }));
    expect(compileSchema(json)).not.toBe(compileSchema({ ...json, description: 'another' }));
  });

  it('provide types for apply', () => {
    const spec = schema.type.fields.get('spec')!.type;
    expect(spec).toMatchObject({ kind: 'object', preserveUnknown: false });
    const field = (name: string): unknown => (spec.kind === 'object' ? spec.fields.get(name)!.type : undefined);
    expect(field('known')).toEqual({ kind: 'scalar', scalar: 'string' });
    expect(field('list')).toMatchObject({ kind: 'list', listType: 'atomic' });
    expect(field('map')).toMatchObject({ kind: 'map', atomic: false });
    expect(field('open')).toMatchObject({ kind: 'object', preserveUnknown: true });
  });
});
