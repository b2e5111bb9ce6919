import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Reader, ReverseWriter } from './protobuf.ts';

describe('protobuf', () => {
  it('reads back what it writes', () => {
    const field = fc.oneof(
      fc.record({
        type: fc.constant('integer' as const),
        number: fc.integer({ min: 1, max: 5000 }),
        value: fc.maxSafeNat().map((n) => n + 1),
      }),
      fc.record({ type: fc.constant('text' as const), number: fc.integer({ min: 1, max: 5000 }), value: fc.string({ unit: 'grapheme' }) }),
    );
    fc.assert(
      fc.property(fc.array(field), fc.integer({ min: 0, max: 40 }), (fields, capacity) => {
        const writer = new ReverseWriter(capacity);
        const before = writer.length;
        for (const { type, number, value } of fields.toReversed()) {
          if (type === 'integer') writer.integer(number, value);
          else writer.text(number, value);
        }
        writer.nested(7, before);
        const outer = new Reader(writer.finish());
        expect(outer.field()).toBe(7);
        const reader = outer.nested();
        for (const { type, number, value } of fields) {
          expect(reader.field()).toBe(number);
          expect(type === 'integer' ? reader.integer() : reader.text()).toBe(value);
        }
        expect(reader.field()).toBe(0);
        expect(outer.field()).toBe(0);
      }),
    );
  });

  it('reads negative numbers', () => {
    expect(new Reader(Buffer.from('ffffffffffffffffff01', 'hex')).integer()).toBe(-1);
  });

  it('writes the bytes that the format specifies', () => {
    const writer = new ReverseWriter(1);
    writer.text(2, 'testing');
    writer.integer(1, 150);
    expect(writer.finish().toString('hex')).toBe('089601120774657374696e67');
  });

  it('skips fields of every wire type', () => {
    const reader = new Reader(Buffer.from('0896011101020304050607081203616263250102030428', 'hex'));
    const seen: number[] = [];
    for (let field = reader.field(); field !== 5; field = reader.field()) {
      seen.push(field);
      reader.skip();
    }
    expect(seen).toEqual([1, 2, 2, 4]);
  });

  it('rejects a truncated message', () => {
    const reader = new Reader(Buffer.from('120774', 'hex'));
    expect(reader.field()).toBe(2);
    expect(() => reader.text()).toThrow('in the middle of a field');
    expect(() => new Reader(Buffer.from('ff', 'hex')).integer()).toThrow('in the middle of a number');
  });
});
