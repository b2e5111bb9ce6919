import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SortedMap } from './sorted-map.ts';

type Step = { op: 'set' | 'delete'; key: string };
const steps = fc.array(
  fc.record({ op: fc.constantFrom('set', 'set', 'delete'), key: fc.string({ minLength: 1, maxLength: 3 }) }) as fc.Arbitrary<Step>,
  { maxLength: 2000 },
);

function apply(list: readonly Step[]): { map: SortedMap<{ key: string }>; model: Map<string, { key: string }> } {
  const map = new SortedMap<{ key: string }>();
  const model = new Map<string, { key: string }>();
  for (const { op, key } of list) {
    if (op === 'set') {
      const value = { key };
      map.set(value);
      model.set(key, value);
    } else {
      expect(map.delete(key)).toBe(model.get(key));
      model.delete(key);
    }
  }
  return { map, model };
}

test('any sequence of changes gives the same result as a plain map sorted by key', () => {
  fc.assert(
    fc.property(steps, fc.string({ maxLength: 3 }), fc.string({ maxLength: 3 }), (list, start, end) => {
      const { map, model } = apply(list);
      const expected = [...model.values()].filter(({ key }) => key >= start && key < end).sort((a, b) => (a.key < b.key ? -1 : 1));
      const walked: { key: string }[] = [];
      map.walk(start, end, (value) => walked.push(value) > 0);
      expect(walked).toEqual(expected);
      expect(map.count(start, end)).toBe(expected.length);
      expect(map.size).toBe(model.size);
      for (const [key, value] of model) expect(map.get(key)).toBe(value);
    }),
  );
});

test('a map that outgrows a chunk stays sorted', () => {
  const map = new SortedMap<{ key: string }>();
  for (let at = 0; at < 5000; at++) map.set({ key: String((at * 7919) % 5000).padStart(5, '0') });
  const keys: string[] = [];
  map.walk('', '\uffff', ({ key }) => keys.push(key) > 0);
  expect(keys).toEqual(Array.from({ length: 5000 }, (_, at) => String(at).padStart(5, '0')));
});
