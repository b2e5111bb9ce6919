import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FrameReader, frameMessage } from './grpc-frames.ts';

it('reassembles every message, however the bytes are split', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), fc.array(fc.integer({ min: 1, max: 20 })), (messages, cuts) => {
      const bytes = Buffer.concat(messages.map((message) => frameMessage(Buffer.from(message))));
      const received: Buffer[] = [];
      const reader = new FrameReader((message) => received.push(message));
      let at = 0;
      for (const cut of cuts) {
        reader.push(bytes.subarray(at, at + cut));
        at += cut;
      }
      reader.push(bytes.subarray(at));
      expect(received.map((message) => [...message])).toEqual(messages.map((message) => [...message]));
    }),
  );
});

it('rejects a compressed message', () => {
  const reader = new FrameReader(() => {});
  expect(() => reader.push(Buffer.from([1, 0, 0, 0, 0]))).toThrow('compressed');
});
