import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../json.ts';
import { mergeConfiguration, UnfitConfiguration } from './configuration.ts';
import { GoValue } from './go-text.ts';
import { widget } from './test-types.ts';

const laid = (live: JsonObject, spec: JsonObject): Json => mergeConfiguration(widget, { spec: live }, { spec })['spec']!;

function problem(spec: JsonObject): string {
  try {
    laid({}, spec);
  } catch (error) {
    if (error instanceof UnfitConfiguration) return error.message;
    throw error;
  }
  return '';
}

describe('a configuration merged into an object', () => {
  it('adds and replaces fields, keys and items, and removes nothing', () => {
    const live = { name: 'a', size: 1, labels: { x: '1' }, tags: ['a'], parts: [{ name: 'one', image: 'i', count: 1 }] };
    const merged = laid(live, { size: 2, labels: { y: '2' }, tags: ['b'], parts: [{ name: 'one', count: 3 }, { name: 'two' }] });
    expect(merged).toEqual({
      name: 'a',
      size: 2,
      labels: { x: '1', y: '2' },
      tags: ['a', 'b'],
      parts: [{ name: 'one', image: 'i', count: 3 }, { name: 'two' }],
    });
  });

  it('must not contain atomic values', () => {
    const words = 'invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ';
    expect(problem({ words: ['a'] })).toBe(`${words}.spec.words`);
    expect(problem({ words: ['a'], selector: { a: 'b' } })).toBe(`${words}.spec.selector, .spec.words`);
    expect(problem({ loose: { anything: ['a', { b: 1 }] } })).toBe('');
  });

  it('must match the type', () => {
    const words = 'failed to convert patch object to typed object: ';
    expect(problem({ nope: 1 })).toBe(`${words}.spec.nope: field not declared in schema`);
    expect(problem({ size: 'x' })).toBe(`${words}.spec.size: expected numeric (int or float), got string`);
    expect(problem({ parts: [{ count: 1 }] })).toContain('associative list with keys has an element that omits all key fields ["name"]');
  });

  it('reports the Go type of a value that is not JSON', () => {
    const value = new GoValue('uint64', '3', '0x3') as unknown as Json;
    expect(problem({ size: value })).toContain('.spec.size: expected numeric (int or float), got uint64');
    expect(problem({ name: value })).toContain('.spec.name: expected string, got &value.valueUnstructured{Value:0x3}');
    expect(problem({ labels: value })).toContain('.spec.labels: expected map, got &{3}');
    expect(problem({ tags: value })).toContain('.spec.tags: expected list, got &{3}');
    expect(problem({ loose: { x: value } })).toContain('.spec.loose.x: expected JSON, got uint64');
  });

  const parts = fc.record({
    name: fc.string(),
    size: fc.integer(),
    labels: fc.dictionary(fc.string(), fc.string()),
    tags: fc.uniqueArray(fc.string()),
  });

  it('takes effect, is idempotent, and changes neither input', () => {
    fc.assert(
      fc.property(parts, fc.record({ size: fc.integer(), labels: fc.dictionary(fc.string(), fc.string()) }), (live, spec) => {
        const [before, given] = [JSON.stringify(live), JSON.stringify(spec)];
        const merged = laid(live, spec) as JsonObject;
        expect(merged['size']).toBe(spec.size);
        expect(merged['labels']).toEqual({ ...live.labels, ...spec.labels });
        expect(merged['tags']).toEqual(live.tags);
        expect(laid(merged, spec)).toEqual(merged);
        expect([JSON.stringify(live), JSON.stringify(spec)]).toEqual([before, given]);
      }),
    );
  });
});
