import { describe, expect, it } from 'vitest';
import { FieldPath } from '../field/path.ts';
import type { JsonObject } from '../json.ts';
import { invalidObject } from '../status/status.ts';
import { whole } from '../work/parts.ts';
import { limitSteps, OutOfSteps } from '../work/steps.ts';
import { compileSchema } from './compiled.ts';
import { readSchema } from './schema.ts';
import { schemaErrors } from './schema-rules.ts';

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

  it('keep long keys out of the paths of errors', () => {
    const schema = compileSchema({
      type: 'object',
      additionalProperties: { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
    });
    const inner = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`a${index}`, 1]));
    const errors = schema.validate({ ['x'.repeat(100_000)]: inner });
    expect(errors.length).toBe(1000);
    expect(Math.max(...errors.map(({ field, body }) => field.length + body.length))).toBeLessThan(3_000);
    const closed = compileSchema({ type: 'object', additionalProperties: { type: 'object' } });
    const unknown = closed.prune({ ['x'.repeat(100_000)]: inner });
    expect(unknown.length).toBe(1000);
    expect(Math.max(...unknown.map((path) => path.length))).toBeLessThan(3_000);
  });

  it('allow large enumerations on many values, and read them once', () => {
    const numbers = Array.from({ length: 5000 }, (_, index) => index);
    let reads = 0;
    const get = (target: object, key: string): unknown => {
      reads++;
      return Reflect.get(target, key);
    };
    const enumeration = new Proxy([...numbers, ...numbers.map(String), { a: 1 }], { get });
    const schema = list({ enum: enumeration, 'x-kubernetes-preserve-unknown-fields': true });
    expect(schema.validate({ x: Array.from({ length: 100_000 }, (_, index) => (index % 2 === 0 ? 4999 : '4999')) })).toEqual([]);
    expect(reads).toBeLessThan(20 * 10_001);
    expect(schema.validate({ x: [{ a: 1 }, { a: 2 }, true, null] }).map(({ field }) => field)).toEqual(['x[1]', 'x[2]', 'x[3]']);
  });
});

/** The object, and how often anyone looks for a field of it. */
function watched(object: JsonObject): { readonly object: JsonObject; readonly looks: () => number } {
  let looks = 0;
  const look = <Arguments extends unknown[], Result>(reflect: (...given: Arguments) => Result) => {
    return (...given: Arguments): Result => {
      looks++;
      return reflect(...given);
    };
  };
  const proxy = new Proxy<JsonObject>(object, {
    get: look(Reflect.get),
    has: look(Reflect.has),
    getOwnPropertyDescriptor: look(Reflect.getOwnPropertyDescriptor),
  });
  return { object: proxy, looks: () => looks };
}

describe('the size of a schema does not multiply with that of an object:', () => {
  const names = Array.from({ length: 5000 }, (_, index) => `p${index}`);
  const all = (property: JsonObject): JsonObject => Object.fromEntries(names.map((name) => [name, property]));

  it('a field that is required many times is looked for once', () => {
    const schema = compileSchema({ type: 'object', required: names.map(() => 'a'), properties: { a: { type: 'string' } } });
    const { object, looks } = watched({ a: 'b' });
    expect(schema.validate(object)).toEqual([]);
    expect(looks()).toBeLessThan(20);
    expect([...schema.type.fields].map(([name, { required }]) => [name, required])).toContainEqual(['a', true]);
  });

  it('required fields are not looked for when there are too many errors already', () => {
    const schema = compileSchema({ type: 'object', required: names });
    const { object, looks } = watched({});
    expect(schema.validate(object).length).toBe(1000);
    expect(looks()).toBeLessThan(1100);
  });

  it('errors that are dropped because nothing changed are counted', () => {
    const items = { type: 'object', required: names, properties: { name: { type: 'string' } } };
    const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
    const schema = compileSchema({ type: 'object', properties: { x: { type: 'array', ...keyed, items } } } as JsonObject);
    const objectOf = (length: number): JsonObject => ({ x: Array.from({ length }, (_, index) => ({ name: `${index}` })) });
    const update = (length: number): unknown => limitSteps(10_000_000, () => schema.validate(objectOf(length), objectOf(length)));
    expect(update(3)).toEqual([]);
    expect(() => update(1000)).toThrow(OutOfSteps);
  });

  it('defaults inside of properties that an object lacks are not looked for', () => {
    const schema = compileSchema({
      type: 'object',
      properties: all({ type: 'object', properties: { a: { type: 'string', default: 'b' } } }),
    });
    const { object, looks } = watched({ p7: {}, other: 1 });
    expect(schema.applyDefaults(object)).toBe(true);
    expect(object).toEqual({ p7: { a: 'b' }, other: 1 });
    expect(looks()).toBeLessThan(20);
  });

  it('defaults are not filled in any more when they are too large', () => {
    const schema = compileSchema({ type: 'object', properties: all({ type: 'string', default: 'x'.repeat(2000) }) });
    const { object, looks } = watched({});
    expect(schema.applyDefaults(object)).toBe(false);
    expect(looks()).toBeLessThan(4000);
  });

  it('a default for nulls is measured once', () => {
    let reads = 0;
    const value = {
      get a() {
        reads++;
        return 'b';
      },
    };
    const schema = list({ type: 'array', items: { type: 'object', default: value } });
    expect(schema.applyDefaults({ x: Array.from({ length: 1000 }, () => []) })).toBe(true);
    expect(reads).toBeLessThan(10);
  });

  it('items with many keys are compared by a table', () => {
    const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': names.slice(0, 64) };
    const x = { type: 'array', ...keyed, items: { type: 'object', properties: all({ type: 'string' }) } } as JsonObject;
    const schema = compileSchema({ type: 'object', properties: { x } });
    const items = Array.from({ length: 16 }, (_, index) => watched({ p63: `${index}` }));
    expect(schema.validate({ x: items.map(({ object }) => object) })).toEqual([]);
    expect(Math.max(...items.map(({ looks }) => looks()))).toBeLessThan(200);
  });
});

it('a list has at most 64 keys', () => {
  const names = Array.from({ length: 65 }, (_, index) => `p${index}`);
  const errorsOf = (keys: string[]): string[] => {
    const properties = Object.fromEntries(keys.map((key) => [key, { type: 'string' }]));
    const items = { type: 'object', properties, required: keys };
    const json = { type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys } as JsonObject;
    return whole(schemaErrors(readSchema(json), FieldPath.of('x'))).map(({ field, body }) => `${field}: ${body}`);
  };
  expect(errorsOf(names.slice(1))).toEqual([]);
  expect(errorsOf(names)).toEqual(['x.x-kubernetes-list-map-keys: Too many: 65: must have at most 64 items']);
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
