import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../json.ts';
import { whole } from '../work/parts.ts';
import { compare } from './compare.ts';
import { merge } from './merge.ts';
import { reconcile } from './reconcile.ts';
import { extractItems, removeItems } from './remove-items.ts';
import { Untypable } from './shape.ts';
import { atomicList, object, text, texts, widget, widgetOf } from './test-types.ts';
import { toFieldSet } from './to-field-set.ts';

const spec = (value: JsonObject): JsonObject => widgetOf(value);

describe('comparing two objects', () => {
  it.each<[string, JsonObject, JsonObject, object]>([
    ['a leaf changed', { name: 'a' }, { name: 'b' }, { modified: { 'f:name': {} } }],
    ['a leaf added', {}, { name: 'b' }, { added: { 'f:name': {} } }],
    ['a map with keys added', {}, { labels: { x: '1' } }, { added: { 'f:labels': { '.': {}, 'f:x': {} } } }],
    ['an empty map added', {}, { labels: {} }, { added: { 'f:labels': {} } }],
    ['a key removed', { labels: { x: '1', y: '2' } }, { labels: { x: '1' } }, { removed: { 'f:labels': { 'f:y': {} } } }],
    [
      'a set item swapped',
      { tags: ['a'] },
      { tags: ['b'] },
      { removed: { 'f:tags': { 'v:"a"': {} } }, added: { 'f:tags': { 'v:"b"': {} } } },
    ],
    ['the order of a set changed', { tags: ['a', 'b'] }, { tags: ['b', 'a'] }, {}],
    ['an atomic list changed', { words: ['a'] }, { words: ['a', 'b'] }, { modified: { 'f:words': {} } }],
    ['an atomic map changed', { selector: { a: '1' } }, { selector: { a: '2' } }, { modified: { 'f:selector': {} } }],
    [
      'an item of a keyed list changed',
      { parts: [{ name: 'a', image: 'x' }] },
      { parts: [{ name: 'a', image: 'y' }, { name: 'b' }] },
      {
        modified: { 'f:parts': { 'k:{"name":"a"}': { 'f:image': {} } } },
        added: { 'f:parts': { 'k:{"name":"b"}': { '.': {}, 'f:name': {} } } },
      },
    ],
    [
      'the default of a key written out',
      { ports: [{ port: 80 }] },
      { ports: [{ port: 80, protocol: 'TCP' }] },
      { added: { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { 'f:protocol': {} } } } },
    ],
    [
      'a duplicate appeared',
      { parts: [{ name: 'a' }] },
      { parts: [{ name: 'a' }, { name: 'a' }] },
      { removed: { 'f:parts': { 'k:{"name":"a"}': { '.': {}, 'f:name': {} } } }, added: { 'f:parts': { 'k:{"name":"a"}': {} } } },
    ],
    [
      'a deduced map became a value',
      { free: { a: 1 } },
      { free: 'x' },
      { removed: { 'f:free': { 'f:a': {} } }, modified: { 'f:free': {} } },
    ],
    ['a deduced map became null', { free: { a: 1 } }, { free: null }, { removed: { 'f:free': { 'f:a': {} } } }],
    [
      'keys named like prototypes',
      { labels: {} },
      JSON.parse('{"labels":{"__proto__":"1","constructor":"2"}}') as JsonObject,
      { added: { 'f:labels': { 'f:__proto__': {}, 'f:constructor': {} } } },
    ],
  ])('%s', (_, before, after, expected) => {
    const comparison = compare(widget, spec(before), spec(after));
    const parts = Object.entries(comparison).filter(([, fields]) => Object.keys(fields as object).length > 0);
    expect(Object.fromEntries(parts)).toEqual(
      Object.fromEntries(Object.entries(expected).map(([part, fields]) => [part, { 'f:spec': fields }])),
    );
  });

  it('rejects items without their key', () => {
    expect(() => compare(widget, spec({}), spec({ parts: [{ image: 'x' }] }))).toThrow(Untypable);
    expect(() => compare(widget, spec({}), spec({ tags: [null] }))).toThrow(Untypable);
  });
});

describe('the fields of a configuration', () => {
  it.each<[JsonObject, object]>([
    [{ name: 'a' }, { 'f:name': {} }],
    [{ labels: { x: '1' } }, { 'f:labels': { 'f:x': {} } }],
    [{ labels: {} }, { 'f:labels': {} }],
    [{ tags: [] }, {}],
    [{ box: { a: '1' } }, { 'f:box': { 'f:a': {} } }],
    [{ box: null }, { 'f:box': {} }],
    [{ free: { a: { b: 1 }, c: [1] } }, { 'f:free': { 'f:a': { '.': {}, 'f:b': {} }, 'f:c': {} } }],
    [{ loose: { known: 'x', other: { y: 1 } } }, { 'f:loose': { 'f:known': {}, 'f:other': { '.': {}, 'f:y': {} } } }],
    [{ ports: [{ port: 80 }] }, { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} } } }],
    [{ parts: [{ name: 'a' }, { name: 'a', image: 'x' }] }, { 'f:parts': { 'k:{"name":"a"}': {} } }],
  ])('of %j', (value, expected) => {
    expect(toFieldSet(widget, { spec: value })).toEqual(Object.keys(expected).length === 0 ? {} : { 'f:spec': expected });
  });
});

describe('merging', () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['leaves are replaced', { name: 'a', size: 1 }, { name: 'b' }, { name: 'b', size: 1 }],
    ['maps are united', { labels: { a: '1' } }, { labels: { b: '2' } }, { labels: { a: '1', b: '2' } }],
    ['an empty map changes nothing', { labels: { a: '1' } }, { labels: {} }, { labels: { a: '1' } }],
    ['sets keep the order of the configuration', { tags: ['a', 'b', 'c'] }, { tags: ['c', 'x', 'a'] }, { tags: ['b', 'c', 'x', 'a'] }],
    [
      'keyed items are merged in place',
      { parts: [{ name: 'a', image: 'x' }, { name: 'b' }] },
      { parts: [{ name: 'b', image: 'y' }] },
      {
        parts: [
          { name: 'a', image: 'x' },
          { name: 'b', image: 'y' },
        ],
      },
    ],
    ['atomic lists are replaced', { words: ['a', 'b'] }, { words: ['c'] }, { words: ['c'] }],
    [
      'duplicates are replaced by the applied item',
      { parts: [{ name: 'a', image: 'x' }, { name: 'a' }] },
      { parts: [{ name: 'a', count: 1 }] },
      { parts: [{ name: 'a', count: 1 }] },
    ],
  ])('%s', (_, live, applied, expected) => {
    expect(merge(widget, { spec: live }, { spec: applied })).toEqual({ spec: expected });
  });
});

describe('removing and extracting', () => {
  const value = { spec: { name: 'a', labels: { x: '1', y: '2' }, parts: [{ name: 'a', image: 'i' }, { name: 'b' }] } };
  const fields = { 'f:spec': { 'f:labels': { 'f:x': {} }, 'f:parts': { 'k:{"name":"a"}': { '.': {}, 'f:image': {}, 'f:name': {} } } } };

  it('removes the fields of a set', () => {
    expect(removeItems(widget, value, fields)).toEqual({ spec: { name: 'a', labels: { y: '2' }, parts: [{ name: 'b' }] } });
  });

  it('leaves null for an emptied container', () => {
    expect(removeItems(widget, { spec: { labels: { x: '1' }, name: 'a' } }, fields)).toEqual({ spec: { labels: null, name: 'a' } });
  });

  it('keeps only the fields of a set', () => {
    expect(extractItems(widget, value, fields)).toEqual({ spec: { labels: { x: '1' }, parts: [{ name: 'a', image: 'i' }] } });
  });
});

describe('a schema that became atomic', () => {
  it('turns owners of a part into owners of the whole', () => {
    const type = object({ a: { kind: 'map', values: text, atomic: true }, b: atomicList, c: texts });
    expect(whole(reconcile(type, { 'f:a': { 'f:x': {} }, 'f:b': { 'v:"x"': {} }, 'f:c': { 'f:y': {} } }))).toEqual({
      'f:a': {},
      'f:b': {},
      'f:c': { 'f:y': {} },
    });
  });

  it('returns the same set if nothing became atomic', () => {
    const fields = { 'f:c': { 'f:y': {} } };
    expect(whole(reconcile(object({ c: texts }), fields))).toBe(fields);
  });
});
