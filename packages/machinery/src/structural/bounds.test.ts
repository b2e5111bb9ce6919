import { describe, expect, it } from 'vitest';
import { invalidObject } from '../status/status.ts';
import { compileSchema } from './compiled.ts';

const list = (items: object) => compileSchema({ type: 'object', properties: { x: { type: 'array', items: items as never } } });

describe('the limits on an object', () => {
  it('report the first thousand errors without checking the rest', () => {
    const seen: number[] = [];
    const items = Array.from({ length: 5000 }, (_, index) => ({
      get a() {
        seen.push(index);
        return 1;
      },
    }));
    const schema = list({ type: 'object', properties: { a: { type: 'string' } } });
    expect(schema.validate({ x: items }).length).toBe(1000);
    expect(Math.max(...seen)).toBe(999);
  });

  it('report the first thousand unknown fields, but drop all of them', () => {
    const items = Array.from({ length: 5000 }, () => ({ a: 1 }));
    const object = { x: items };
    expect(list({ type: 'object' }).prune(object).length).toBe(1000);
    expect(object.x.every((item) => Object.keys(item).length === 0)).toBe(true);
  });

  it('keep defaults from filling the memory', () => {
    const schema = list({ type: 'object', properties: { a: { type: 'string', default: 'x'.repeat(1000) } } });
    const few = { x: Array.from({ length: 1000 }, () => ({})) };
    expect(schema.applyDefaults(few)).toBe(true);
    expect(few.x.every((item) => 'a' in item)).toBe(true);
    const many = { x: Array.from({ length: 100_000 }, () => ({})) };
    expect(schema.applyDefaults(many)).toBe(false);
    expect(many.x.filter((item) => 'a' in item).length).toBeLessThan(3200);
  });

  it('keep defaults for nulls from filling the memory', () => {
    const schema = list({ type: 'string', default: 'x'.repeat(1000) });
    expect(schema.applyDefaults({ x: Array.from({ length: 100_000 }, () => null) })).toBe(false);
  });

  it('bound the number of alternatives that are tried', () => {
    const anyOf = Array.from({ length: 500 }, (_, index) => ({ pattern: `^a${index}$` }));
    const values = (count: number): string[] => Array.from({ length: count }, () => 'a499');
    expect(list({ type: 'string', anyOf }).validate({ x: values(500) })).toEqual([]);
    expect(() => list({ type: 'string', anyOf }).validate({ x: values(1000) })).toThrow(/alternatives .* more than 300000 values/);
    expect(() => list({ type: 'string', not: { anyOf } }).validate({ x: values(1000) })).toThrow(/alternatives/);
    const whole = compileSchema({
      type: 'object',
      properties: { x: { type: 'array', items: { type: 'string' } } },
      allOf: Array.from({ length: 10 }, () => ({ properties: { x: { items: { minLength: 1 } } } })) as never,
    });
    expect(() => whole.validate({ x: values(100_000) })).toThrow(/alternatives/);
    expect(list({ type: 'string' }).validate({ x: values(400_000) })).toEqual([]);
  });

  it('allow large enumerations on many values', () => {
    const numbers = Array.from({ length: 5000 }, (_, index) => index);
    const schema = list({ enum: [...numbers, ...numbers.map(String), { a: 1 }], 'x-kubernetes-preserve-unknown-fields': true });
    expect(schema.validate({ x: Array.from({ length: 100_000 }, (_, index) => (index % 2 === 0 ? 4999 : '4999')) })).toEqual([]);
    expect(schema.validate({ x: [{ a: 1 }, { a: 2 }, true, null] }).map(({ field }) => field)).toEqual(['x[1]', 'x[2]', 'x[3]']);
  });
});

it('truncates the causes of an invalid object', () => {
  const errors = Array.from({ length: 1000 }, (_, index) => ({
    type: 'FieldValueInvalid' as const,
    field: `x[${index}]`,
    body: 'b'.repeat(30_000),
  }));
  const { details } = invalidObject({ group: 'a', kind: 'A' }, 'one', errors).status;
  expect(details!.causes!.length).toBe(1);
  const shorter = errors.map((error) => ({ ...error, body: 'b'.repeat(1000) }));
  expect(invalidObject({ group: 'a', kind: 'A' }, 'one', shorter).status.details!.causes!.length).toBe(17);
  expect(
    invalidObject({ group: 'a', kind: 'A' }, 'one', [{ ...errors[0]!, body: 'b'.repeat(300_000) }]).status.details!.causes!.length,
  ).toBe(1);
});
