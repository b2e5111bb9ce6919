import { constants, createDeflate, createInflate } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dictionary, dictionaryId } from './dictionary.ts';
import { FrameReader } from './frame-reader.ts';
import { type ControlFrame, encodeControl, encodeDataHeader } from './frames.ts';
import { HeaderPacker, HeaderUnpacker } from './header-block.ts';
import { SpdyProtocolError } from './protocol-error.ts';

const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/).filter((text) => text !== '__proto__');
const headers = fc.dictionary(
  name,
  fc.string({ unit: 'grapheme', maxLength: 200 }).map((text) => text.replaceAll('\0', '')),
  {
    maxKeys: 20,
    noNullPrototype: true,
  },
);

describe('header blocks', () => {
  test('the dictionary has the checksum by which zlib names it', () => {
    let [a, b] = [1, 0];
    for (const byte of dictionary) {
      a = (a + byte) % 65_521;
      b = (b + a) % 65_521;
    }
    expect(b * 65_536 + a).toBe(dictionaryId);
  });

  test('survive packing and unpacking, one after another', () => {
    fc.assert(
      fc.property(fc.array(headers, { minLength: 1, maxLength: 10 }), (blocks) => {
        const [packer, unpacker] = [new HeaderPacker(), new HeaderUnpacker(1 << 20)];
        for (const block of blocks) expect(unpacker.unpack(packer.pack(block))).toEqual(block);
      }),
    );
  });

  test('are one zlib stream, as other programs write and read them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(headers, { minLength: 1, maxLength: 5 }), async (blocks) => {
        const packer = new HeaderPacker();
        const inflate = createInflate({ dictionary });
        const deflate = createDeflate({ dictionary });
        const unpacker = new HeaderUnpacker(1 << 20);
        for (const block of blocks) {
          const plain = await through(inflate, packer.pack(block));
          expect(unpacker.unpack(await through(deflate, plain))).toEqual(block);
        }
        inflate.destroy();
        deflate.destroy();
      }),
      { numRuns: 30 },
    );
  });

  test('refer back at most 32 KiB', () => {
    const [packer, unpacker] = [new HeaderPacker(), new HeaderUnpacker(1 << 20)];
    for (let round = 0; round < 40; round++) {
      const block = { [`name-${round}`]: `${round}`.repeat(3000) };
      expect(unpacker.unpack(packer.pack(block))).toEqual(block);
    }
  });

  test.each([
    ['a bomb', new HeaderPacker().pack({ a: 'x'.repeat(200_000) })],
    ['an empty block', Buffer.alloc(0)],
    ['another dictionary', Buffer.from([0x78, 0xbb, 1, 2, 3, 4, 0])],
    ['bytes that are not zlib', Buffer.from('hello world')],
  ])('rejects %s', (_name, block) => {
    expect(() => new HeaderUnpacker(64 << 10).unpack(block)).toThrow(SpdyProtocolError);
  });
});

function through(stream: ReturnType<typeof createInflate> | ReturnType<typeof createDeflate>, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    const take = (part: Buffer): void => void parts.push(part);
    stream.on('data', take).on('error', reject);
    stream.write(bytes);
    stream.flush(constants.Z_SYNC_FLUSH, () => {
      setImmediate(() => {
        stream.off('data', take);
        resolve(Buffer.concat(parts));
      });
    });
  });
}

const id = fc.integer({ min: 1, max: 0x7fffffff });
const word = fc.integer({ min: 0, max: 0xffffffff });
const block = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const controlFrame: fc.Arbitrary<ControlFrame> = fc.oneof(
  fc.record({
    type: fc.constant('synStream' as const),
    streamId: id,
    associatedTo: id,
    priority: fc.integer({ min: 0, max: 7 }),
    fin: fc.boolean(),
    unidirectional: fc.boolean(),
    block,
  }),
  fc.record({ type: fc.constantFrom('synReply' as const, 'headers' as const), streamId: id, fin: fc.boolean(), block }),
  fc.record({ type: fc.constant('reset' as const), streamId: id, status: word }),
  fc.record({
    type: fc.constant('settings' as const),
    values: fc.array(fc.tuple(fc.integer({ min: 0, max: 0xffffff }), word), { maxLength: 5 }).map((pairs) => new Map(pairs)),
  }),
  fc.record({ type: fc.constant('ping' as const), id: word }),
  fc.record({ type: fc.constant('goAway' as const), lastStreamId: id, status: word }),
  fc.record({ type: fc.constant('windowUpdate' as const), streamId: id, delta: id }),
);
const dataFrame = fc.record({ streamId: id, payload: block, fin: fc.boolean() });
type Read = ControlFrame | { streamId: number; payload: string; fin: boolean };

/** Reads frames, with the parts of one data frame joined. */
function reading(): { reader: FrameReader; read: Read[] } {
  const read: Read[] = [];
  let pending = '';
  const reader = new FrameReader(
    {
      control: (frame) => void read.push(frame),
      data: (streamId, part, fin) => {
        pending += part.toString('hex');
        read.push({ streamId, payload: pending, fin });
        pending = '';
      },
    },
    4096,
  );
  return { reader, read };
}

describe('frames', () => {
  test('survive encoding and decoding, however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(controlFrame, dataFrame), { maxLength: 10 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (frames, cuts) => {
          const bytes = Buffer.concat(
            frames.map((frame) =>
              'type' in frame
                ? encodeControl(frame)
                : Buffer.concat([encodeDataHeader(frame.streamId, frame.payload.length, frame.fin), frame.payload]),
            ),
          );
          const { reader, read } = reading();
          for (let at = 0, turn = 0; at < bytes.length; turn++) {
            const end = at + cuts[turn % cuts.length]!;
            reader.read(Buffer.from(bytes.subarray(at, end)));
            at = end;
          }
          expect(joined(read)).toEqual(
            joined(
              frames.map((frame) =>
                'type' in frame ? frame : { streamId: frame.streamId, payload: frame.payload.toString('hex'), fin: frame.fin },
              ),
            ),
          );
        },
      ),
    );
  });

  test('random bytes are read or rejected, never anything else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          reading().reader.read(Buffer.from(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(SpdyProtocolError);
        }
      }),
    );
  });

  test.each([
    ['of another version', '8002000100000000'],
    ['that are too long', '8003000100ffffff'],
    ['that are too short', '800300060000000100'],
  ])('rejects control frames %s', (_name, hex) => {
    expect(() => reading().reader.read(Buffer.from(hex, 'hex'))).toThrow(SpdyProtocolError);
  });

  test('ignores control frames of unknown types', () => {
    const { reader, read } = reading();
    reader.read(Buffer.from('8003000a00000001ff', 'hex'));
    reader.read(encodeControl({ type: 'ping', id: 1 }));
    expect(read).toEqual([{ type: 'ping', id: 1 }]);
  });
});

/** Joins data of the same stream that follows one another: where frames of data end has no meaning, except for their flag. */
function joined(frames: readonly Read[]): Read[] {
  const result: Read[] = [];
  for (const frame of frames) {
    const last = result.at(-1);
    if (!('type' in frame) && last !== undefined && !('type' in last) && last.streamId === frame.streamId && !last.fin)
      result[result.length - 1] = { ...frame, payload: last.payload + frame.payload };
    else if ('type' in frame || frame.fin || frame.payload !== '') result.push(frame);
  }
  return result;
}
