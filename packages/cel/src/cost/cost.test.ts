import { describe, expect, test } from 'vitest';
import { compile, declarationOfSchema, overBudgetMessage, type StructuralSchema } from '../index.ts';

const schema: StructuralSchema = {
  type: 'object',
  properties: {
    s: { type: 'string' },
    short: { type: 'string', maxLength: 10 },
    i: { type: 'integer' },
    l: { type: 'array', maxItems: 10, items: { type: 'string' } },
    open: { type: 'array', items: { type: 'string' } },
  },
};
const variables = new Map([['self', declarationOfSchema(schema)!]]);

function programOf(source: string) {
  const { program, message } = compile(source, { variables });
  if (program === undefined) throw new Error(message);
  return program;
}

describe('the estimate', () => {
  // The estimates of kube-apiserver 1.34, derived from the factors that it reports.
  test.each([
    ['self.i == 1', 2],
    ["self.l.all(x, x.startsWith('a'))", 53],
    ["self.s.split(',').all(x, x != '')", 13_212_053],
    ['format.dns1123Label().validate(self.s).hasValue()', 10_066_340],
  ])('of %s is at most %d', (source, max) => {
    expect(programOf(source).estimateCost().max).toBe(max);
  });

  test('of nested loops over unbounded lists exceeds any budget', () => {
    const { max } = programOf('self.open.all(a, self.open.all(b, self.open.all(c, a == b || b == c)))').estimateCost();
    expect(overBudgetMessage('estimated rule cost', max, 10_000_000)).toBe(
      'estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    );
  });

  test.each([
    [10_066_340, '1.006634x'],
    [20_000_000, '2.0x'],
    [1_000_000_001, 'more than 100x'],
  ])('of %d is reported as %s', (cost, factor) => {
    expect(overBudgetMessage('estimated rule cost', cost, 10_000_000)).toContain(`factor of ${factor} (`);
  });
});

describe('the cost of an evaluation', () => {
  const self = { s: 'abc', short: 'abc', i: 1, l: ['a', 'b'], open: ['a'] };

  test.each([
    ['self.i == 1', 3],
    ['has(self.s)', 1],
    ["self.l.all(x, x.startsWith('a'))", 2 + 2 * (3 + 2) + 1],
    ['self.l.map(x, x).size() == 2', 2 + 2 * 13 + 1 + 1 + 1],
    ['self.l.exists(x, x == "a")', 2 + (4 + 2) + 3 + 1],
    ['self.i in [1, 2, 3]', 2],
    ['self.l[?9].hasValue()', 3],
  ])('of %s is %d', (source, cost) => {
    expect(programOf(source).evaluate({ self }).cost).toBe(cost);
  });

  test('stops at the limit, which no operator absorbs', () => {
    const source = 'self.l.all(a, self.l.all(b, self.l.all(c, a == b || b == c || true))) || true';
    const outcome = programOf(source).evaluate({ self: { ...self, l: Array.from({ length: 200 }, String) } });
    expect(outcome).toMatchObject({ isCostExceeded: true, error: 'operation cancelled: actual cost limit exceeded' });
  });

  test('is never more than the estimate', () => {
    const source = "self.l.exists(x, x.contains('b') && self.l.map(y, y + x).join('-').size() > 3)";
    const program = programOf(source);
    expect(program.evaluate({ self }).cost).toBeLessThanOrEqual(program.estimateCost().max);
  });
});
