import { whole } from '@capstan/machinery';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compile, declarationOfSchema, type StructuralSchema } from './index.ts';

const schema: StructuralSchema = {
  type: 'object',
  properties: {
    s: { type: 'string' },
    i: { type: 'integer' },
    d: { type: 'number' },
    b: { type: 'boolean' },
    l: { type: 'array', items: { type: 'string' } },
    m: { type: 'object', additionalProperties: { type: 'integer' } },
    p: { 'x-kubernetes-int-or-string': true },
  },
};
const variables = new Map([['self', declarationOfSchema(schema)!]]);
const self = { s: 'text', i: 3, d: 1.5, b: true, l: ['a', 'b', 'c'], m: { x: 1 }, p: '50%' };

const pieces = [
  ...['self', 'self.s', 'self.i', 'self.l', 'self.m', 'self.p', 'x', 'y', 'true', 'null', '1', '1u', '2.5', '-9223372036854775808'],
  ...["'a'", "b'\\x00'", 'r"\\"', "'''", '"', '`', '\\', '// c\n', '\n', ' ', '日本', '\ud800'],
  ...['.', '.?', '[', '[?', ']', '(', ')', '{', '}', ',', ':', '?', '!', '-', '+', '*', '/', '%', '&&', '||', '==', '<', 'in'],
  ...['.all(x, ', '.map(x, ', '.exists(x, y, ', '.transformMap(x, y, ', '.optMap(x, ', '.size()', '.matches(', '.format(', 'has(', 'dyn('],
];

test('compiles any text or rejects it with errors, and evaluates programs without throwing', () => {
  const text = fc.oneof(
    fc.array(fc.constantFrom(...pieces), { maxLength: 25 }).map((parts) => parts.join('')),
    fc.string({ unit: 'binary', maxLength: 60 }),
  );
  fc.assert(
    fc.property(text, (source) => {
      const { program, errors } = compile(source, { variables });
      if (program === undefined) {
        expect(errors!.length).toBeGreaterThan(0);
        return;
      }
      const outcome = program.evaluate({ self }, { costLimit: 10_000 });
      expect(whole(program.evaluateInParts({ self }, { costLimit: 10_000 }))).toEqual(outcome);
      expect(outcome.cost).toBeGreaterThanOrEqual(0);
      program.estimateCost();
    }),
    { numRuns: 3000 },
  );
});

/** Well-typed expressions, built from compatible parts. */
const expression = fc.letrec<Record<'bool' | 'int' | 'text' | 'list', string>>((tie) => ({
  bool: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('self.b', 'has(self.s)', 'true'),
    fc.tuple(tie('int'), fc.constantFrom('<', '<=', '==', '!=', '>'), tie('int')).map((parts) => `(${parts.join(' ')})`),
    fc.tuple(tie('bool'), fc.constantFrom('&&', '||', '=='), tie('bool')).map((parts) => `(${parts.join(' ')})`),
    fc.tuple(tie('list'), fc.constantFrom('all', 'exists', 'exists_one'), tie('bool')).map(([l, name, p]) => `${l}.${name}(e, ${p})`),
    fc.tuple(tie('text'), fc.constantFrom('contains', 'startsWith', 'matches'), tie('text')).map(([a, name, b]) => `${a}.${name}(${b})`),
  ),
  int: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('self.i', '0', '7', '9223372036854775807', "self.m['x']", "self.m['missing']"),
    fc.tuple(tie('int'), fc.constantFrom('+', '-', '*', '/', '%'), tie('int')).map((parts) => `(${parts.join(' ')})`),
    fc.tuple(tie('list')).map(([list]) => `${list}.size()`),
    fc.tuple(tie('bool'), tie('int'), tie('int')).map(([condition, one, other]) => `(${condition} ? ${one} : ${other})`),
  ),
  text: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('self.s', "''", "'a'", "'[a-z]+'", 'self.l[9]', 'string(self.i)'),
    fc.tuple(tie('text'), tie('text')).map(([one, other]) => `(${one} + ${other})`),
    fc.tuple(tie('list')).map(([list]) => `${list}.join('-')`),
    fc.tuple(tie('text'), tie('text'), tie('text')).map(([text, from, to]) => `${text}.replace(${from}, ${to})`),
  ),
  list: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('self.l', "['x', 'y']"),
    fc.tuple(tie('list'), tie('list')).map(([one, other]) => `(${one} + ${other})`),
    fc.tuple(tie('list'), tie('text')).map(([list, text]) => `${list}.map(e, ${text} + e)`),
    fc.tuple(tie('list'), tie('bool')).map(([list, test_]) => `${list}.filter(e, ${test_})`),
    fc.tuple(tie('text')).map(([text]) => `${text}.split('')`),
  ),
})).bool;

test('well-typed expressions compile, and stay within the cost limit or are stopped by it', () => {
  fc.assert(
    fc.property(expression, (source) => {
      const { program, message } = compile(source, { variables });
      if (program === undefined) throw new Error(message);
      expect(program.typeName).toBe('bool');
      const outcome = program.evaluate({ self }, { costLimit: 5_000 });
      expect(whole(program.evaluateInParts({ self }, { costLimit: 5_000 }))).toEqual(outcome);
      expect(outcome.error === undefined ? typeof outcome.value : 'boolean').toBe('boolean');
      const isStopped = outcome.error !== undefined && outcome.isCostExceeded;
      expect(isStopped || outcome.cost <= 5_000).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

describe('expressions that try to exhaust resources', () => {
  test.each([
    ['parentheses', `${'('.repeat(1000)}1${')'.repeat(1000)}`],
    ['lists', '['.repeat(1000) + ']'.repeat(1000)],
    ['a sum', `1${' + 1'.repeat(5000)} > 0`],
    ['selections', `self${'.a'.repeat(5000)}`],
    ['conditions', `${'true ? true : '.repeat(1000)}true`],
    ['optional maps', `optional.of(1)${'.optMap(x, x)'.repeat(300)}.hasValue()`],
  ])('nesting of %s is limited', (_what, source) => {
    expect(compile(source, { variables }).errors).toMatchObject([{ message: 'expression recursion limit exceeded: 250', line: -1 }]);
  });

  test.each([
    ['negations', `${'!'.repeat(90_000)}true`],
    ['terms', `self.b${' && self.i == 3'.repeat(6_000)}`],
    ['elements', `[${'1,'.repeat(49_000)}].size() > 0`],
    ['chained optional maps', `optional.of(1)${'.optMap(x, x + 1)'.repeat(100)}.value() > 0`],
  ])('many %s compile and run', (_what, source) => {
    const { program, message } = compile(source, { variables });
    expect(message).toBeUndefined();
    expect(program!.evaluate({ self })).toHaveProperty('cost');
    expect(program!.estimateCost().max).toBeGreaterThanOrEqual(0);
  });

  test('rejects a text of more than 100,000 characters', () => {
    expect(compile(`'${'a'.repeat(100_000)}' == ''`, { variables }).errors).toMatchObject([
      { message: 'expression code point size exceeds limit: size: 100008, limit 100000' },
    ]);
  });

  test.each([
    ['doubling a string', `${"['a'].map(t, t + t)".repeat(1)}${'.map(t, t + t)'.repeat(60)}.size() > 0`],
    ['replacing the empty string with a large one', "'a'.replace('', self.big).replace('', self.big).size() > 0"],
    ['a pattern that would backtrack elsewhere', "self.big.matches('(a+)+$') && self.big.matches('(a|aa)+b')"],
    ['nested loops', 'self.many.all(a, self.many.all(b, self.many.all(c, a + b + c > 0)))'],
  ])('%s is stopped', (_what, source) => {
    const open = new Map([
      [
        'self',
        declarationOfSchema({
          type: 'object',
          properties: { big: { type: 'string' }, many: { type: 'array', items: { type: 'integer' } } },
        })!,
      ],
    ]);
    const { program, message } = compile(source, { variables: open });
    expect(message).toBeUndefined();
    const outcome = program!.evaluate({ self: { big: 'a'.repeat(100_000), many: Array.from({ length: 1000 }, (_, index) => index) } });
    expect(outcome.error ?? outcome.value).toSatisfy(
      (result: unknown) => result === 'operation cancelled: actual cost limit exceeded' || result === false,
    );
  });
});
