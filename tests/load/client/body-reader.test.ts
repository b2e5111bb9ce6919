import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodyReader } from './body-reader.ts';

/** Reads a response that arrives in chunks split at the given positions. */
function readCut(answer: string, cuts: readonly number[]): { status: number; bytes: number; text: string; complete: boolean } {
  const result = { status: 0, bytes: 0, text: '', complete: false };
  const reader = new BodyReader(
    (status, bytes) => Object.assign(result, { status, bytes }),
    (text) => {
      result.text += text;
    },
  );
  const places = [...new Set(cuts.map((cut) => cut % answer.length))].sort((a, b) => a - b);
  let from = 0;
  for (const to of [...places, answer.length]) {
    if (to > from && !result.complete) result.complete = reader.read(Buffer.from(answer.slice(from, to), 'latin1'));
    from = to;
  }
  if (result.complete) reader.finish();
  return result;
}

const cuts = fc.array(fc.nat(500), { maxLength: 12 });

test('reads a response with a length completely, however it is split', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', maxLength: 60 }), cuts, (body, places) => {
      const answer = `HTTP/1.1 201 Created\r\nX: y\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      expect(readCut(answer, places)).toEqual({ status: 201, bytes: body.length, text: body, complete: true });
    }),
  );
});

test('reads a chunked response completely, however it is split', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 30 }), { maxLength: 5 }), cuts, (chunks, places) => {
      const framed = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
      const body = chunks.join('');
      const answer = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${framed}0\r\n\r\n`;
      expect(readCut(answer, places)).toEqual({ status: 200, bytes: body.length, text: body, complete: true });
    }),
  );
});
