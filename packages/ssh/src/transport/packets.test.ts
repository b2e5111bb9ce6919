import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CipherName, cipherNames, keyLengthOf, nonceLength, PacketCipher } from './cipher.ts';
import { longestPacket, PacketReader, PacketWriter } from './packets.ts';

function pair(name: CipherName | undefined): { reader: PacketReader; writer: PacketWriter } {
  const [reader, writer] = [new PacketReader(), new PacketWriter()];
  if (name !== undefined) {
    const [key, nonce] = [randomBytes(keyLengthOf(name)), Buffer.concat([randomBytes(4), Buffer.alloc(8, 0xff)])];
    expect(nonce.length).toBe(nonceLength);
    reader.change(new PacketCipher(name, key, nonce), { resetSequence: true });
    writer.change(new PacketCipher(name, key, nonce));
  }
  return { reader, writer };
}

describe.each([undefined, ...cipherNames])('packets with %s', (name) => {
  test('arrive as they were sent, however they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { minLength: 1 }),
        fc.integer({ min: 1, max: 50 }),
        (sent, step) => {
          const { reader, writer } = pair(name);
          const bytes = Buffer.concat(sent.map((payload) => writer.packet(Buffer.from(payload))));
          const received: Buffer[] = [];
          for (let at = 0; at < bytes.length; at += step) {
            reader.push(bytes.subarray(at, at + step));
            for (let payload = reader.next(); payload !== undefined; payload = reader.next()) received.push(Buffer.from(payload));
          }
          expect(received).toEqual(sent.map((payload) => Buffer.from(payload)));
          expect(reader.sequence).toBe(sent.length);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('of impossible lengths are rejected before they arrive', () => {
    for (const length of [0, 1, 4, 13, longestPacket + 12, 0xffffffff]) {
      const { reader } = pair(name);
      const head = Buffer.alloc(4);
      head.writeUInt32BE(length);
      reader.push(head);
      expect(() => reader.next()).toThrow('expected a packet of at most');
    }
  });
});

test.each(cipherNames)('%s rejects a packet with any changed bit, and one that is repeated or left out', (name) => {
  const payload = Buffer.from('some payload');
  for (let byte = 4; byte < pair(name).writer.packet(payload).length; byte++) {
    const { reader, writer } = pair(name);
    const packet = writer.packet(payload);
    packet[byte]! ^= 1;
    reader.push(packet);
    expect(() => reader.next()).toThrow('a packet was changed on its way');
  }
  const { reader, writer } = pair(name);
  const [first, second] = [writer.packet(payload), writer.packet(payload)];
  reader.push(first);
  expect(reader.next()).toEqual(payload);
  reader.push(first);
  expect(() => reader.next()).toThrow('a packet was changed on its way');
  const late = pair(name);
  late.reader.push(second);
  expect(() => late.reader.next()).toThrow('a packet was changed on its way');
});

test('rejects padding that leaves no message, or is too short', () => {
  for (const padding of [0, 3, 11, 12, 255]) {
    const reader = new PacketReader();
    reader.push(Buffer.concat([Buffer.from([0, 0, 0, 12, padding]), Buffer.alloc(11)]));
    expect(() => reader.next()).toThrow(`cannot have ${padding} bytes of padding`);
  }
});
