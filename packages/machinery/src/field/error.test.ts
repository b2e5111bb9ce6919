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

describe('values in messages', () => {
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
