import { compileSchema, type FieldError, type JsonObject, type Parts } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { rulesOf } from './checker.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

interface Checked {
  readonly parts: number;
  readonly errors: readonly FieldError[];
  readonly warnings: readonly string[];
}

/** Checks an object whose `spec` has these rules, and counts the parts of the work. */
function check(rules: JsonObject[], object: JsonObject, old?: JsonObject): Checked {
  const spec = { type: 'object', properties: { items: { type: 'array', items: { type: 'integer' } } }, 'x-kubernetes-validations': rules };
  const checker = rulesOf(compileSchema({ type: 'object', properties: { spec } }))!;
  const warnings: string[] = [];
  const work: Parts<FieldError[]> = checker.check(object, { old, warn: (message) => void warnings.push(message) });
  for (let parts = 1; ; parts++) {
    const part = work.next();
    if (part.done) return { parts, errors: part.value, warnings };
  }
}

const long = 'self.items.all(a, self.items.all(b, a + b >= 0))';

test('a single long rule is evaluated in parts', () => {
  const { parts, errors } = check([{ rule: long }], { spec: { items: numbers(300) } });
  expect(errors).toEqual([]);
  expect(parts).toBeGreaterThan(5);
});

test('so is a long message, and the rules that follow', () => {
  const messageExpression = `${long} ? 'long' : 'short'`;
  const rules = [{ rule: 'self.items.size() < 5', messageExpression }, { rule: 'self.items[0] == 7', message: 'seven' }, { rule: long }];
  const { parts, errors } = check(rules, { spec: { items: numbers(200) } });
  expect(errors.map(({ body }) => body)).toEqual([expect.stringContaining(': long'), expect.stringContaining(': seven')]);
  expect(parts).toBeGreaterThan(5);
});

test('short rules that hold are evaluated in one part', () => {
  const { parts, errors } = check([{ rule: long }, { rule: 'self.items.size() < 50' }], { spec: { items: numbers(10) } });
  expect(errors).toEqual([]);
  expect(parts).toBe(1);
});

test('a failed rule about an unchanged value is a warning, long or not', () => {
  const object = { spec: { items: numbers(300) } };
  const { errors, warnings } = check([{ rule: `!${long}`, message: 'wrong' }], object, structuredClone(object));
  expect(errors).toEqual([]);
  expect(warnings).toEqual([expect.stringContaining('wrong')]);
});

test('all rules have one budget', () => {
  const rules = Array.from({ length: 30 }, () => ({ rule: long }));
  const { errors } = check(rules, { spec: { items: numbers(320) } });
  expect(errors.map(({ body }) => body)).toEqual([expect.stringContaining('running out of cost budget')]);
});
