import { countSteps, type JsonObject, limitStepsInParts, type Parts, whole } from '@capstan/machinery';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Binding,
  compile,
  type Declaration,
  declarationOfSchema,
  declare,
  type EvaluateOptions,
  LazyFields,
  leaveAttempt,
  type Outcome,
  type Program,
  type Task,
} from './index.ts';
import { equalInParts } from './value/equal-in-parts.ts';
import { equalValues } from './value/equality.ts';

type Bindings = Readonly<Record<string, Binding>>;

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const o = { ten: numbers(10), thousand: numbers(1000), many: numbers(60_000), map: { a: { b: [1, 2] }, c: [{ d: 'x' }] }, text: 'x' };
const variables = new Map([['o', declare.dyn]]);

function programOf(source: string, declared: ReadonlyMap<string, Declaration> = variables): Program {
  const { program, message } = compile(source, { variables: declared, isStored: true });
  if (program === undefined) throw new Error(message);
  return program;
}

/** The outcome, which must be the same in parts. */
function bothWays(program: Program, bindings: Bindings, options: EvaluateOptions = {}): Outcome {
  const outcome = program.evaluate(bindings, options);
  expect(whole(program.evaluateInParts(bindings, options))).toEqual(outcome);
  return outcome;
}

function partsIn(parts: Parts<unknown>): number {
  let count = 0;
  for (const _ of parts) count++;
  return count;
}

/** A list whose parts are shared, so that it is small in memory and has 2^depth elements. */
const shared = (depth: number): string => `['a']${'.map(x, [x, x])'.repeat(depth)}`;

describe('long evaluations yield', () => {
  test.each([
    ['in a loop', 'o.many.all(a, a >= 0)'],
    ['in a loop that compares values of any type', "o.many.all(a, a != 'x')"],
    ['in a loop with a filter', 'o.many.filter(a, a > 5).size() > 0'],
    ['in the filter', 'o.ten.filter(a, o.many.all(b, b >= a)).size() > 0'],
    ['in an inner loop', '[1].all(a, o.many.all(b, a + b >= 0))'],
    ['between short inner loops', 'o.thousand.all(a, o.ten.all(b, a + b >= 0))'],
    ['in a term', 'o.text == "x" && o.many.all(a, a >= 0)'],
    ['in a condition', 'o.many.all(a, a >= 0) ? true : false'],
    ['in a branch', 'o.text == "x" ? o.many.all(a, a >= 0) : false'],
    ['in an operand', 'o.many.filter(a, a == 7).size() == 1'],
    ['in an index', 'o.ten[o.many.filter(a, a == 7)[0]] == 7'],
    ['in an element', '[1, o.many.filter(a, a < 7).size()][1] == 7'],
    ['in an entry', '{"a": o.many.filter(a, a < 7).size()}["a"] == 7'],
    ['in an alternative', 'optional.none().orValue(o.many.filter(a, a < 7).size()) == 7'],
    ['in a binding', 'optional.of(1).optMap(x, o.many.all(a, a + x > 0)).value()'],
    ['in a member', 'o.many.filter(a, a < 7).size() in [7, 8]'],
    ['in a search', '60000 in o.many || true'],
    ['in a search from the start', 'o.many.indexOf(59999) == 59999'],
    ['in a search from the end', 'o.many.lastIndexOf(0) == 0'],
    ['in a search for a list', `[${shared(14)}.map(x, x), ${shared(14)}].lastIndexOf(${shared(14)}) == 1`],
    ['in a comparison of sets', 'sets.contains(o.many, [60000, 1]) || sets.intersects([60000, 1], o.many)'],
    ['in a comparison of equal sets', 'sets.equivalent(o.many, [60000]) || true'],
    ['in a comparison of lists', `${shared(15)} == ${shared(15)}`],
    ['in a comparison of maps', `{'k': ${shared(15)}} == {'k': ${shared(15)}}`],
    ['in a comparison in a loop', `['x'].all(x, ${shared(15)} == ${shared(15)})`],
  ])('%s', (_what, source) => {
    const program = programOf(source);
    expect(bothWays(program, { o })).toMatchObject({ value: true });
    expect(partsIn(program.evaluateInParts({ o }))).toBeGreaterThan(0);
    expect(program.attempt({ o })).toBeUndefined();
  });

  test.each(['sum() == 1799970000', 'max() == 59999', 'min() == 0', 'isSorted()'])('in %s', (call) => {
    const program = programOf(`list.${call}`, new Map([['list', declare.list(declare.int)]]));
    expect(bothWays(program, { list: o.many })).toMatchObject({ value: true });
    expect(partsIn(program.evaluateInParts({ list: o.many }))).toBeGreaterThan(3);
  });

  test('and each part takes few steps', () => {
    for (const source of ['o.ten.all(a, o.many.all(b, a + b >= 0 && o.map == o.map))', `${shared(18)} == ${shared(18)}`]) {
      const parts = programOf(source).evaluateInParts({ o });
      for (let isDone = false; !isDone; ) {
        expect(
          countSteps(() => {
            isDone = parts.next().done === true;
          }).steps,
        ).toBeLessThan(30_000);
      }
    }
  });
});

test('short evaluations need no parts', () => {
  for (const source of ['o.ten.all(a, a >= 0)', 'o.map == o.map', 'o.text == "x"', '7 in o.ten']) {
    const program = programOf(source);
    expect(program.attempt({ o })).toEqual(program.evaluate({ o }));
    expect(program.attempt({ o })).toMatchObject({ value: true });
    expect(partsIn(program.evaluateInParts({ o }))).toBe(0);
  }
});

test('an evaluation that contains nothing long is not attempted, but done', () => {
  const program = programOf("o.text.replace('', 'x').size() > 0");
  expect(program.attempt({ o: { text: 'x'.repeat(50_000) } })).toMatchObject({ value: true });
});

test('the limits of cost and steps have the same effect in parts', () => {
  const sources = [
    'o.ten.all(a, o.thousand.all(b, a + b >= 0) && o.map == o.map)',
    `o.ten.filter(a, ${shared(10)} == ${shared(10)}).map(a, [a]).size() == 10 || true`,
    '[o.thousand.map(a, {a: o.map}).size(), 2].exists_one(x, x in o.thousand)',
  ];
  const limit = fc.integer({ min: 1, max: 150_000 });
  fc.assert(
    fc.property(fc.constantFrom(...sources.map((source) => programOf(source))), limit, limit, (program, costLimit, stepLimit) => {
      bothWays(program, { o }, { costLimit, stepLimit });
    }),
    { numRuns: 150 },
  );
});

test('a surrounding limit of steps stops an evaluation in parts, too', () => {
  const program = programOf('o.many.all(a, a >= 0)');
  expect(whole(limitStepsInParts(50_000, program.evaluateInParts({ o })))).toMatchObject({ isCostExceeded: true });
});

test('two evaluations of a program may take turns', () => {
  const program = programOf('o.all(a, o.map(b, a * b)[1] == a && o == o)');
  const lists = [numbers(300), numbers(400)];
  const running = lists.map((list) => program.evaluateInParts({ o: list }));
  const outcomes: unknown[] = [undefined, undefined];
  while (outcomes.includes(undefined)) {
    for (const [index, parts] of running.entries()) {
      const part = parts.next();
      if (part.done && part.value !== undefined) outcomes[index] = part.value;
    }
  }
  expect(outcomes).toEqual(lists.map((list) => program.evaluate({ o: list })));
});

const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 1, 1.5, 'a', 'b'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value')),
  ),
})).value;

describe('values are compared in parts with the same outcome and the same steps:', () => {
  const schema = {
    type: 'object',
    properties: {
      set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
      keyed: {
        type: 'array',
        items: { type: 'object', properties: { key: { type: 'string' }, value: { type: 'integer' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['key'],
      },
      open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'integer' } } },
    },
  };
  const word = fc.constantFrom('a', 'b', 'c');
  const typed = fc.record(
    {
      set: fc.uniqueArray(word),
      keyed: fc.uniqueArray(fc.record({ key: word, value: fc.nat(1) }), { selector: ({ key }) => key }),
      open: fc.dictionary(word, fc.nat(1)),
    },
    { requiredKeys: [] },
  );

  test.each([
    ['data of any type', declare.dyn, anything],
    ['data with a schema', declarationOfSchema(schema)!, typed as fc.Arbitrary<unknown>],
  ])('%s', (_what, declaration, arbitrary) => {
    fc.assert(
      fc.property(arbitrary, arbitrary, (one, other) => {
        for (const pair of [
          [one, other],
          [one, structuredClone(one)],
        ]) {
          const [left, right] = pair.map((json) => declaration.read(json as JsonObject)) as [never, never];
          expect(countSteps(() => whole(equalInParts(left, right)))).toEqual(countSteps(() => equalValues(left, right)));
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('fields that are computed when they are read', () => {
  function lazily(): { readonly bindings: Bindings; readonly computed: readonly string[] } {
    const computed: string[] = [];
    const values = new Map<string, unknown>();
    const keep = (name: string, { value }: Outcome): unknown => {
      computed.push(name);
      values.set(name, value);
      return value;
    };
    const at = (name: string): unknown => {
      if (values.has(name)) return values.get(name);
      leaveAttempt();
      return keep(name, programs.get(name)!.evaluate(bindings));
    };
    const inParts = (name: string): Task | undefined =>
      values.has(name) ? undefined : programs.get(name)?.task(bindings, { take: (outcome) => void keep(name, outcome) });
    const bindings: Bindings = { o, lazy: new LazyFields(programs.keys(), { at, inParts }) as unknown as JsonObject };
    return { bindings, computed };
  }

  const fields = declare.growingObject('fields');
  const read = (value: unknown): never => value as never;
  for (const name of ['short', 'long', 'next']) fields.add(name, { ...declare.dyn, read });
  const declared = new Map([...variables, ['lazy', fields.declaration] as const]);
  const compiled = (source: string): Program => programOf(source, declared);
  const programs = new Map([
    ['short', compiled('1')],
    ['long', compiled('o.many.filter(a, a < 7).size()')],
    ['next', compiled('lazy.long + lazy.short')],
  ]);

  test.each([
    'lazy.next == 8',
    'dyn(lazy).next == 8',
    "dyn(lazy)['next'] == 8",
    'has(lazy.next) && lazy.next == 8',
    'lazy.?next.value() == 8',
    'o.ten.all(a, lazy.next == 8)',
    '[lazy].all(each, each.next == 8)',
  ])('%s: are computed in parts, once', (source) => {
    const program = compiled(source);
    const { bindings, computed } = lazily();
    expect(partsIn(program.evaluateInParts(bindings))).toBeGreaterThanOrEqual(2);
    expect(computed).toEqual(['long', 'short', 'next']);
    expect(program.evaluate(lazily().bindings)).toMatchObject({ value: true });
    expect(whole(program.evaluateInParts(lazily().bindings))).toEqual(program.evaluate(lazily().bindings));
  });

  test.each([
    ['lazy.short == 1 || lazy.long == 7', ['short']],
    ['o.text == "y" && lazy.long == 7', []],
    ['lazy.short == 2 ? lazy.long : 1', ['short']],
    ['lazy.long in []', []],
    ['dyn(lazy).missing == 1 || lazy.short == 1', ['short']],
  ])('%s: are not computed in vain', (source, fieldsRead) => {
    const program = compiled(source);
    const { bindings, computed } = lazily();
    const outcome = whole(program.evaluateInParts(bindings));
    expect(computed).toEqual(fieldsRead);
    expect(outcome).toEqual(program.evaluate(lazily().bindings));
  });
});
