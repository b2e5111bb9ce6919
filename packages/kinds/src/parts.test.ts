import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodedLength, keepPart, sameValue } from './parts.ts';

describe('parts of objects', () => {
  it('are restored from the old object, or removed if absent there', () => {
    const meta = { apiVersion: 'v1', kind: 'X', metadata: {} };
    const changed = { ...meta, status: { a: 1 } };
    keepPart(changed, { ...meta, status: { b: 2 } }, 'status');
    expect(changed.status).toEqual({ b: 2 });
    keepPart(changed, meta, 'status');
    expect(changed).not.toHaveProperty('status');
  });

  it('are compared regardless of field order', () => {
    expect(sameValue({ a: 1, b: [{ c: null }] }, { b: [{}], a: 1 })).toBe(true);
    expect(sameValue({ a: 1 }, { a: 1, b: 2 })).toBe(false);
    expect(sameValue([1, 2], [2, 1])).toBe(false);
    expect(sameValue([], {})).toBe(false);
    expect(sameValue({ constructor: 1 }, {})).toBe(false);
    expect(sameValue(JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":2}'))).toBe(false);
  });

  it('equal their copies', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(sameValue(value, structuredClone(value))).toBe(true);
      }),
    );
  });

  it('report the decoded length of base64', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decodedLength(Buffer.from(bytes).toString('base64'))).toBe(bytes.length);
      }),
    );
  });
});
