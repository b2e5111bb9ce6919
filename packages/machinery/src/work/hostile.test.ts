import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyPatch } from '../apply/apply-patch.ts';
import type { Json, JsonObject, KubeObject } from '../json.ts';
import { jsonPatch } from '../patch/json-patch.ts';
import { compilePattern, PatternError } from '../pattern/pattern.ts';
import { expandedSize } from '../pattern/size.ts';
import { parseFieldSelector } from '../selector/field.ts';
import { parseLabelSelector } from '../selector/label.ts';
import { StatusError } from '../status/status.ts';
import { compileSchema } from '../structural/compiled.ts';
import { countSteps, limitSteps, OutOfSteps, spend } from './steps.ts';

/** Fuzzing with hostile input: the steps that it takes must stay within a bound that depends on its size alone. */
const seeded = { seed: 22, numRuns: 150 };

function outcome(work: () => unknown): number {
  return countSteps(() => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof StatusError || error instanceof PatternError)) throw error;
    }
  }).steps;
}

describe('the counter of steps', () => {
  test('stops work beyond its limit, and charges the work around it', () => {
    const { steps } = countSteps(() => {
      limitSteps(100, () => spend(60));
      expect(() => limitSteps(100, () => spend(101))).toThrow(OutOfSteps);
    });
    expect(steps).toBe(161);
  });

  test('never gives inner work more than the work around it has left', () => {
    expect(() => limitSteps(50, () => limitSteps(1000, () => spend(51)))).toThrow(OutOfSteps);
  });

  test('counts nothing once the work is over', () => {
    expect(() => limitSteps(1, () => spend(2))).toThrow(OutOfSteps);
    expect(() => spend(1e12)).not.toThrow();
  });
});

test('a JSON patch takes a bounded number of steps', () => {
  const lengths = fc.constantFrom(0, 10, 1000, 50_000);
  const path = fc.constantFrom('/list/0', '/list/-', '/list/500', '/map', '/map/a', '/other', '');
  const operation = fc.record({
    op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
    path,
    from: path,
    value: fc.constant(1),
  });
  fc.assert(
    fc.property(
      lengths,
      fc.array(operation, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(1, 100, 2000),
      (length, operations, times) => {
        const object: JsonObject = { kind: 'A', list: Array.from({ length }, () => 1), map: { a: 1 } };
        const patch = JSON.stringify(Array.from({ length: times }, () => operations).flat());
        expect(outcome(() => jsonPatch(object, patch))).toBeLessThan(6_000_000);
      },
    ),
    { ...seeded, numRuns: 60 },
  );
});

test('patterns are sized before they are built, never too small', () => {
  const atom = fc.constantFrom('a', '.', '[a-z]', '\\d', '(?:b|c)', '[[:alpha:]]', '\\pL', '(d)');
  const repeat = fc.constantFrom('', '*', '+', '?', '{3}', '{2,50}', '{0,200}', '{10,}');
  const piece = fc.tuple(atom, repeat).map((parts) => parts.join(''));
  const group = fc.tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), repeat).map(([pieces, times]) => `(${pieces.join('')})${times}`);
  const pattern = fc
    .tuple(fc.constantFrom('', '(?i)'), fc.array(fc.oneof(piece, group), { maxLength: 5 }))
    .map(([flag, parts]) => flag + parts.join(''));
  fc.assert(
    fc.property(pattern, fc.string({ maxLength: 200 }), (source, text) => {
      const size = expandedSize(source);
      const steps = outcome(() => compilePattern(source).matches(text.repeat(5)));
      expect(steps).toBeLessThanOrEqual((size + 2) * (text.length * 5 + 1) * 4);
    }),
    seeded,
  );
});

const schema = compileSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        items: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: { name: { type: 'string' }, value: { type: 'string', pattern: '^(?i)[a-z]+$' } },
          },
        },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
});

test('applying and validating an object takes steps in proportion to its size', () => {
  const word = fc.constantFrom('a', 'b', 'c', 'A', '1');
  const item = fc.record({ name: fc.nat(500).map(String), value: word }, { requiredKeys: ['name'] });
  const spec = fc.record(
    { items: fc.array(item, { maxLength: 300 }), set: fc.uniqueArray(word), open: fc.jsonValue({ maxDepth: 4 }) },
    { requiredKeys: [] },
  );
  const request = (live: KubeObject | undefined, config: JsonObject, manager: string) =>
    applyPatch({ live, config, type: schema.type, kind: 'A', manager, force: true, apiVersion: 'v1', subresource: '', now: new Date(0) });
  fc.assert(
    fc.property(spec, spec, (one, two) => {
      const config = (value: Json): JsonObject => ({ apiVersion: 'v1', kind: 'A', metadata: { name: 'a' }, spec: value });
      const [first, second] = [config(one as Json), config(two as Json)];
      const size = JSON.stringify([first, second]).length;
      const steps = outcome(() => {
        const live = request(undefined, first, 'one').object;
        const { object } = request(live, second, 'two');
        schema.validate(object as unknown as JsonObject);
      });
      expect(steps).toBeLessThan(size * 200 + 10_000);
    }),
    seeded,
  );
});

test('a selector is parsed and matched, or rejected, whatever it says', () => {
  const piece = fc.constantFrom('a', 'b.c/d', '=', '!=', '==', ',', '!', ' in ', ' notin ', '(', ')', 'x,y', '\\', '\\,', '>', '1', ' ');
  const text = fc.array(piece, { maxLength: 40 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, (selector) => {
      outcome(() => parseLabelSelector(selector).matches({ a: 'b' }));
      outcome(() => parseFieldSelector(selector).matches(() => 'a'));
    }),
    { ...seeded, numRuns: 1000 },
  );
  const terms = (count: number, operator: string): string => Array.from({ length: count }, (_, index) => `a${operator}${index}`).join(',');
  expect(() => parseLabelSelector(terms(257, '!='))).toThrow('257 terms');
  expect(() => parseFieldSelector(terms(257, '!='))).toThrow('257 terms');
});

test('checking any schema, and any value against it, takes steps in proportion to their sizes', () => {
  const patterns = fc.constantFrom('^a+$', '(?i)b{1,50}', '[a-z]{3}', 'x{900}', '(');
  const { schema: anySchema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.record({ type: fc.constant('string'), pattern: patterns }),
      fc.record({ type: fc.constantFrom('string', 'integer', 'boolean') }),
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.record({ type: fc.constant('object'), properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema')) }),
      fc.record({ type: fc.constant('object'), additionalProperties: tie('schema') }),
      fc.record({ anyOf: fc.array(tie('schema'), { maxLength: 3 }), 'x-kubernetes-preserve-unknown-fields': fc.constant(true) }),
    ) as fc.Arbitrary<JsonObject>,
  }));
  fc.assert(
    fc.property(anySchema, fc.jsonValue({ maxDepth: 5 }), (spec, value) => {
      const json = { type: 'object', properties: { spec } } as JsonObject;
      const size = JSON.stringify([json, value]).length;
      const steps = outcome(() => {
        const compiled = compileSchema(json);
        const object = { spec: value } as JsonObject;
        compiled.prune(object);
        compiled.applyDefaults(object);
        compiled.validate(object);
      });
      expect(steps).toBeLessThan(size * size * 4000);
    }),
    seeded,
  );
});
