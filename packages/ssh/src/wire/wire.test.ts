import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SshError } from '../error.ts';
import { WireReader } from './reader.ts';
import { WireWriter } from './writer.ts';

const name = fc.stringMatching(/^[a-z0-9@.-]{1,20}$/);

test('reads everything that was written', () => {
  fc.assert(
    fc.property(
      fc.tuple(fc.nat(255), fc.boolean(), fc.nat(), fc.uint8Array(), fc.string(), fc.array(name)),
      ([byte, flag, number, bytes, text, names]) => {
        const written = new WireWriter().byte(byte).boolean(flag).uint32(number).string(Buffer.from(bytes)).string(text).names(names);
        const reader = new WireReader(written.finish());
        expect([reader.byte(), reader.boolean(), reader.uint32()]).toEqual([byte, flag, number]);
        expect([Buffer.from(reader.string()), reader.text(), reader.names()]).toEqual([
          Buffer.from(bytes),
          Buffer.from(text).toString(),
          names,
        ]);
        reader.end();
      },
    ),
  );
});

test('rejects a message that ends too early, or too late', () => {
  const whole = new WireWriter().byte(1).string('some text').uint32(7).finish();
  const readAll = (bytes: Buffer): void => {
    const reader = new WireReader(bytes);
    reader.byte();
    reader.string();
    reader.uint32();
    reader.end();
  };
  readAll(whole);
  for (let length = 0; length < whole.length; length++) expect(() => readAll(whole.subarray(0, length))).toThrow(SshError);
  expect(() => readAll(Buffer.concat([whole, Buffer.alloc(1)]))).toThrow('1 bytes after its end');
  expect(() => new WireReader(Buffer.from('ffffffff00', 'hex')).string()).toThrow(SshError);
});

test.each([
  ['00', '00000000'],
  ['09a378f9b2e332a7', '0000000809a378f9b2e332a7'],
  ['80', '000000020080'],
  ['000080', '000000020080'],
])('writes the number %s as in RFC 4251', (value, written) => {
  expect(new WireWriter().multiplePrecision(Buffer.from(value, 'hex')).finish().toString('hex')).toBe(written);
});
