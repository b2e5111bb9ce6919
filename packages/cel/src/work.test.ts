import { countSteps, whole } from '@capstan/machinery';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compile, declarationOfSchema, declare, misplacedTypes, STEPS_PER_CALL, type StructValue } from './index.ts';

const variables = new Map([['o', declare.dyn]]);
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const o = {
  big: 'a'.repeat(500_000),
  hundred: numbers(100),
  thousand: numbers(1000),
  map: Object.fromEntries(numbers(20_000).map((index) => [`key-${index}`, index])),
  zones: numbers(1000).map(() => 'Europe/Berlin'),
};
const stopped = { error: 'operation cancelled: actual cost limit exceeded', isCostExceeded: true };

function evaluate(source: string) {
  const { program, message } = compile(source, { variables, isStored: true });
  expect(message).toBeUndefined();
  const outcome = program!.evaluate({ o });
  expect(whole(program!.evaluateInParts({ o }))).toEqual(outcome);
  return outcome;
}

/** A list whose parts are shared, so that it is small in memory and has 2^depth elements. */
const shared = (depth: number): string => `['a']${'.map(x, [x, x])'.repeat(depth)}`;

describe('work that costs little in Kubernetes is stopped all the same:', () => {
  test.each([
    ['comparing lists that share parts', `${shared(22)} == ${shared(22)}`],
    ['comparing them with others', `${shared(22)} != ${shared(22)}.map(x, x)`],
    ['searching for one', `${shared(22)} in [${shared(22)}]`],
    ['looking for its index', `[${shared(22)}].indexOf(${shared(22)}) == 0`],
    ['the set of one', `sets.contains([${shared(22)}], [${shared(22)}])`],
    ['printing it', `'%s'.format([${shared(22)}]).size() > 0`],
    ['a message that shows it', `[?dyn(${shared(22)})].size() > 0`],
    ['flattening it', `${shared(22)}.flatten(30).size() > 0`],
    ['distinct elements', `[${shared(21)}, ${shared(21)}, ${shared(21)}.map(x, x)].distinct().size() > 0`],
    ['loops that decide nothing', 'o.thousand.exists_one(a, o.thousand.exists_one(b, o.hundred.exists_one(c, false)))'],
    [
      'filters that keep nothing',
      'o.thousand.filter(a, o.thousand.filter(b, o.hundred.filter(c, false).size() > 0).size() > 0).size() > 0',
    ],
    ['the length of a long text', 'o.thousand.all(a, o.big.size() > 0)'],
    ['characters of a long text', "o.thousand.all(a, o.big.charAt(7) == 'a')"],
    ['the size of a large map', 'o.thousand.all(a, o.map.size() > 0)'],
    ['comparing large maps', 'o.thousand.all(a, o.map == dyn(o.map))'],
    ['long texts as keys', 'o.thousand.all(a, {o.big: 1}.size() == 1)'],
    ['adding lists', 'o.thousand.all(a, (o.thousand + o.thousand + o.thousand + o.thousand).size() > 0)'],
    ['texts that grow', "o.hundred.map(a, 'a'.replace('a', o.big)).size() > 0"],
    ['replacing every character', "o.big.replace('a', 'bb').size() > 0"],
    ['time zones', "o.thousand.all(a, o.zones.all(z, timestamp('2020-01-01T00:00:00Z').getHours(z) >= 0))"],
    ['patterns made while evaluating', "o.thousand.all(a, !'x'.matches('(?i)b{500}' + string(a)))"],
    ['patterns with many states', "('ab' + o.big).matches('(?i)(a|b)*a(a|b){200}c')"],
    ['finding all matches', "o.big.findAll('a*?b|a').size() > 0"],
    ['finding one with many states', "o.big.find('(?i)(a|b)*a(a|b){200}c') == ''"],
    ['finding all with many states', "o.big.findAll('(?i)(a|b)*a(a|b){200}c').size() == 0"],
  ])('%s', (_what, source) => {
    expect(evaluate(source)).toMatchObject(stopped);
  });

  test('sorting by long texts', () => {
    const keys = o.thousand.map((index) => `${'k'.repeat(20_000)}${index}`);
    const { program } = compile('o.sort().size() > 0', { variables: new Map([['o', declare.list(declare.string)]]), isStored: true });
    expect(program!.evaluate({ o: keys })).toMatchObject(stopped);
  });
});

test('work within the limit is done', () => {
  expect(evaluate(`${shared(15)} == ${shared(15)}`)).toMatchObject({ value: true });
  expect(evaluate('o == o && o.map.size() == 20000 && o.hundred.all(a, a in o.thousand)')).toMatchObject({ value: true });
  expect(evaluate("o.zones.all(z, timestamp('2020-01-01T00:00:00Z').getHours(z) == 1)")).toMatchObject({ value: true });
  expect(evaluate("o.thousand.all(a, ('x' + string(a)).matches('^[a-z]+[0-9]{1,4}$'))")).toMatchObject({ value: true });
});

test('searches cost what they read', () => {
  const text = 'some words, 12 numbers and 345 more. '.repeat(150);
  const { program } = compile("o.findAll('[a-z]+').size() == 750 && o.findAll('[0-9]+', 3).size() == 3 && o.find('[0-9]{3}') == '345'", {
    variables,
    isStored: true,
  });
  expect(program!.evaluate({ o: text })).toMatchObject({ value: true });
  expect(countSteps(() => program!.evaluate({ o: text })).steps).toBeLessThan(2_000_000);
});

test('the work of an evaluation is reported for budgets of several', () => {
  const { cost, work } = evaluate('o.map.size() > 0');
  expect(work).toBeGreaterThan(100 * cost);
});

test('numbers with more digits than any integer are rejected unread', () => {
  expect(evaluate("int(o.big.replace('a', '1')) > 0").error).toContain('cost limit');
  for (const digits of [25, 5000]) {
    const text = '9'.repeat(digits);
    expect(evaluate(`int('${text}'.trim()) > 0`)).toMatchObject({ error: "type conversion error from 'string' to 'int'" });
    expect(evaluate(`uint('${text}'.trim()) > 0u`)).toMatchObject({ error: "type conversion error from 'string' to 'uint'" });
    expect(evaluate(`isSemver('${text}.0.0')`)).toMatchObject({ value: false });
  }
  expect(evaluate(`int('${'0'.repeat(50)}7'.trim()) == 7 && int('-${'0'.repeat(50)}7'.trim()) == -7`)).toMatchObject({ value: true });
});

test('texts that are almost numbers are read once', () => {
  // Each took seconds, or minutes.
  expect(evaluate(`o.thousand.all(a, o.hundred.all(b, !isQuantity('${'0'.repeat(255)}x')))`)).toMatchObject(stopped);
  expect(evaluate("!['x'].exists(x, double(o.big.replace('a', '0') + x) > 0.0)").error).toMatch(/type conversion|cost limit/);
  expect(evaluate("o.thousand.all(a, '%f'.format([1.5e300]).size() > 300)")).toMatchObject({ value: true });
  expect(evaluate("'%f %f %f'.format([-1234567.0, -123.0, 1e21])")).toMatchObject({
    value: '-1,234,567.000000 -123.000000 1,000,000,000,000,000,000,000.000000',
  });
});

test('a duration that is too long for its format is rejected unread', () => {
  const schema = { type: 'object', properties: { d: { type: 'string', format: 'duration' } } };
  const { program } = compile("self.d < duration('1h')", { variables: new Map([['self', declarationOfSchema(schema)!]]) });
  expect(program!.evaluate({ self: { d: '5 minutes' } })).toMatchObject({ value: true });
  // It took minutes, and grew with the square of the length.
  expect(program!.evaluate({ self: { d: '1'.repeat(500_000) } }).error).toContain('Invalid duration');
});

test('parts of patches that are shared are not visited for ever', () => {
  const nested = `Object{spec: Object.spec{a: Object.spec.a{}}}`;
  const doubled = `[${nested}]${'.map(x, Object{spec: Object.spec{a: x, b: x}})'.repeat(25)}[0]`;
  const { program } = compile(doubled, { variables, makesPatches: true });
  const problems = misplacedTypes(program!.evaluate({ o }).value as StructValue);
  expect(problems.at(-1)).toContain('more than');
  expect(problems.length).toBeLessThan(50);
});

test('no expression takes more steps than allowed', () => {
  const pieces = [
    '.map(x, [x, x])',
    '.map(x, x)',
    ' + l',
    '.filter(x, x == x)',
    '.reverse()',
    '.distinct()',
    '.flatten()',
    '.map(x, {"k": x})',
  ];
  const ends = [
    ' == l',
    '.size() > 0',
    '.exists(x, x in l)',
    '.indexOf(l) == 0',
    ' in [l]',
    '.all(x, x == l)',
    '.map(x, "%s".format([x])).join().size() > 0',
    '.map(x, dyn(x).size()).sum() > 0',
  ];
  const expression = fc
    .tuple(
      fc.array(fc.constantFrom(...pieces), { maxLength: 24 }),
      fc.constantFrom(...ends),
      fc.constantFrom('o.hundred', '["a"]', 'o.zones'),
    )
    .map(([parts, end, start]) => `[${start}].all(l, l${parts.join('')}${end})`);
  fc.assert(
    fc.property(expression, (source) => {
      const { program } = compile(source, { variables, isStored: true });
      if (program === undefined) return;
      const { steps, result } = countSteps(() => program.evaluate({ o }));
      expect(steps).toBeLessThan(STEPS_PER_CALL + 1_000_000);
      expect(result.work).toBeGreaterThanOrEqual(result.cost);
    }),
    { numRuns: 300, seed: 22 },
  );
});

test('many errors in a long line do not repeat the line again and again', () => {
  const { message, errors } = compile(`[${'u,'.repeat(8000)}1].size() > 0`, { variables });
  expect(errors).toHaveLength(100);
  expect(message!.length).toBeLessThan(100_000);
});
