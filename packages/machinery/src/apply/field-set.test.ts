import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../json.ts';
import {
  difference,
  equal,
  type FieldPath,
  type FieldSet,
  fieldPath,
  has,
  intersection,
  isEmpty,
  leaves,
  paths,
  printPath,
  recursiveDifference,
  setOf,
  union,
} from './field-set.ts';
import { decodeFields, MalformedFields } from './fields-v1.ts';
import { compareReadElements, keyElement, readElement, valueElement } from './path-element.ts';

const element = fc.oneof(
  fc.constantFrom('a', 'b', '__proto__', 'constructor', '.').map((name) => `f:${name}`),
  fc.constantFrom('x', 'y').map((name) => keyElement(['name'], [name])),
  fc.integer({ min: 1, max: 12 }).map((value) => valueElement(value)),
);
const path: fc.Arbitrary<FieldPath> = fc.array(element, { minLength: 1, maxLength: 4 });
const anySet = fc.array(path, { maxLength: 8 }).map(setOf);
const texts = (set: FieldSet): string[] => [...paths(set)].map((one) => one.join(' ')).sort();
const wire = (set: FieldSet): Json => JSON.parse(JSON.stringify(set)) as Json;

describe('a set of fields', () => {
  it('contains exactly the paths put into it', () => {
    fc.assert(
      fc.property(fc.array(path, { maxLength: 8 }), (list) => {
        const set = setOf(list);
        expect(texts(set)).toEqual([...new Set(list.map((one) => one.join(' ')))].sort());
        for (const one of list) expect(has(set, one)).toBe(true);
      }),
    );
  });

  it('unites, intersects and subtracts like a set of paths', () => {
    fc.assert(
      fc.property(anySet, anySet, (left, right) => {
        const [a, b] = [new Set(texts(left)), new Set(texts(right))];
        expect(texts(union(left, right))).toEqual([...a.union(b)].sort());
        expect(texts(intersection(left, right))).toEqual([...a.intersection(b)].sort());
        expect(texts(difference(left, right))).toEqual([...a.difference(b)].sort());
      }),
    );
  });

  it('obeys the laws of sets in its wire form too', () => {
    fc.assert(
      fc.property(anySet, anySet, anySet, (a, b, c) => {
        expect(JSON.stringify(union(a, b))).toBe(JSON.stringify(union(b, a)));
        expect(JSON.stringify(union(union(a, b), c))).toBe(JSON.stringify(union(a, union(b, c))));
        expect(equal(union(difference(a, b), intersection(a, b)), a)).toBe(true);
        expect(isEmpty(difference(a, a))).toBe(true);
        expect(difference(a, setOf([]))).toBe(a);
      }),
    );
  });

  it('loses everything below a path in a recursive difference', () => {
    fc.assert(
      fc.property(anySet, anySet, (left, right) => {
        const gone = [...paths(right)];
        const kept = [...paths(left)].filter((one) => !gone.some((prefix) => prefix.every((step, index) => step === one[index])));
        expect(texts(recursiveDifference(left, right))).toEqual(kept.map((one) => one.join(' ')).sort());
      }),
    );
  });

  it('round-trips through its wire form, from any order of keys', () => {
    fc.assert(
      fc.property(anySet, (set) => {
        expect(JSON.stringify(decodeFields(wire(set)))).toBe(JSON.stringify(set));
        expect(JSON.stringify(decodeFields(reversed(wire(set))))).toBe(JSON.stringify(set));
      }),
    );
  });

  it('reduces to its leaves', () => {
    const set = setOf([fieldPath('a'), fieldPath('a', 'b'), fieldPath('c')]);
    expect(leaves(set)).toEqual({ 'f:a': { 'f:b': {} }, 'f:c': {} });
  });

  it('marks a member that has children with a dot', () => {
    expect(wire(setOf([fieldPath('a', 'b'), fieldPath('a')]))).toEqual({ 'f:a': { '.': {}, 'f:b': {} } });
  });

  it.each([
    [['f:spec', keyElement(['name'], ['a']), 'f:image'], '.spec[name="a"].image'],
    [['f:ports', keyElement(['containerPort', 'protocol'], [80, 'TCP'])], '.ports[containerPort=80,protocol="TCP"]'],
    [['f:finalizers', valueElement('a/b')], '.finalizers[="a/b"]'],
    [['f:list', 'i:3'], '.list[3]'],
  ])('prints %j as %s', (steps, printed) => {
    expect(printPath(steps)).toBe(printed);
  });

  it('orders fields before keys before values, and numbers by size', () => {
    const elements = ['v:"b"', 'k:{"port":443}', 'f:z', 'v:9', 'k:{"port":80}', 'f:a', 'v:10', 'i:2', 'v:true'];
    expect(
      elements
        .map(readElement)
        .sort(compareReadElements)
        .map(({ element }) => element),
    ).toEqual(['f:a', 'f:z', 'k:{"port":80}', 'k:{"port":443}', 'v:9', 'v:10', 'v:"b"', 'v:true', 'i:2']);
  });

  it('escapes keys as Go does', () => {
    expect(valueElement('<a&b>')).toBe('v:"\\u003ca\\u0026b\\u003e"');
  });
});

describe('decoding fieldsV1 from a client', () => {
  it('canonicalizes keys and drops unknown kinds of path elements', () => {
    expect(decodeFields({ 'k:{"protocol": "TCP", "port":80}': {}, 'x:future': { 'f:a': {} } })).toEqual({
      'k:{"port":80,"protocol":"TCP"}': {},
    });
  });

  it.each<Json>([[], 'text', { f: {} }, { 'fa:b': {} }, { 'k:[1]': {} }, { 'v:{': {} }, { 'i:x': {} }, { 'f:a': 1 }])(
    'rejects %j',
    (fields) => {
      expect(() => decodeFields(fields)).toThrow(MalformedFields);
    },
  );

  it('rejects deep nesting without exhausting the stack', () => {
    let fields: Json = {};
    for (let depth = 0; depth < 5000; depth++) fields = { 'f:a': fields };
    expect(() => decodeFields(fields)).toThrow(/nested deeper/);
  });
});

function reversed(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .reverse()
      .map((key) => [key, reversed(value[key]!)]),
  );
}
