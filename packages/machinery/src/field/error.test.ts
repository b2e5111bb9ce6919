import { describe, expect, it } from 'vitest';
import { duplicate, forbidden, invalid, notSupported, quote, required, tooLong, tooMany } from './error.ts';
import { FieldPath } from './path.ts';

const at = FieldPath.of('spec').child('list').index(2).key('a b');

describe('field errors', () => {
  it.each([
    [invalid(at, 'x', 'no'), 'Invalid value: "x": no'],
    [invalid(at, 3, 'no'), 'Invalid value: 3: no'],
    [invalid(at, undefined, 'no'), 'Invalid value: null: no'],
    [invalid(at, ['<a>&'], 'no'), 'Invalid value: ["\\u003ca\\u003e\\u0026"]: no'],
    [required(at), 'Required value'],
    [required(at, 'or else'), 'Required value: or else'],
    [duplicate(at, 'x'), 'Duplicate value: "x"'],
    [forbidden(at, 'why'), 'Forbidden: why'],
    [notSupported(at, 'x', ['a', '']), 'Unsupported value: "x": supported values: "a", ""'],
    [tooLong(at, 1), 'Too long: may not be more than 1 byte'],
    [tooMany(at, 70, 64), 'Too many: 70: must have at most 64 items'],
  ])('%j says %s', (error, body) => {
    expect(error).toMatchObject({ field: 'spec.list[2][a b]', body });
  });

  it.each([
    ['plain é 😀', '"plain é 😀"'],
    ['"\\', '"\\"\\\\"'],
    ['\u0007\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
    ['\u0001\u007f', '"\\x01\\x7f"'],
    ['\u0085\u00a0\u2028', '"\\u0085\\u00a0\\u2028"'],
    ['\u{10ffff}', '"\\U0010ffff"'],
  ])('quotes %j as Go does', (text, quoted) => {
    expect(quote(text)).toBe(quoted);
  });
});

/** The list, and how often its items are read. */
function counting<Item>(items: Item[]): { readonly list: Item[]; readonly reads: () => number } {
  let reads = 0;
  const get = (target: Item[], key: string | symbol): unknown => {
    if (typeof key === 'string' && /^\d+$/.test(key)) reads++;
    return Reflect.get(target, key);
  };
  return { list: new Proxy(items, { get }), reads: () => reads };
}

describe('values in messages', () => {
  it('are read as far as they are shown', () => {
    const { list, reads } = counting(Array.from({ length: 100_000 }, (_, index) => `item ${index}`));
    const { body } = invalid(at, { list }, 'no');
    expect(reads()).toBeLessThan(1_000);
    expect(body).toMatch(/^Invalid value: {"list":\["item 0","item 1",.*…: no$/);
    expect(body.length).toBeLessThan(4_200);
    expect(invalid(at, { list: 'x'.repeat(1_000_000) }, 'no').body).toMatch(/^Invalid value: {"list":"x{4000,4096}"?…: no$/);
  });

  it('are listed once, however many others are compared with them', () => {
    const { list, reads } = counting(Array.from({ length: 5_000 }, (_, index) => `allowed ${index}`));
    const bodies = Array.from({ length: 100 }, () => notSupported(at, 'x', list).body);
    expect(reads()).toBe(5_000);
    expect(new Set(bodies).size).toBe(1);
    expect(bodies[0]).toMatch(/^Unsupported value: "x": supported values: "allowed 0", .*more characters\)$/);
  });

  it.each([
    [{ storage: '1', bogus: '2' }, '{"bogus":"2","storage":"1"}'],
    [
      { matchExpressions: [{ operator: 'Exists', key: 'a' }], matchLabels: { b: '1', a: '2' } },
      '{"matchLabels":{"a":"2","b":"1"},"matchExpressions":[{"key":"a","operator":"Exists"}]}',
    ],
    [{ Type: 'x', LocalhostProfile: 'y' }, '{"Type":"x","LocalhostProfile":"y"}'],
  ])("prints %j in Go's order", (value, printed) => {
    expect(invalid(at, value, 'no').body).toBe(`Invalid value: ${printed}: no`);
  });
});
