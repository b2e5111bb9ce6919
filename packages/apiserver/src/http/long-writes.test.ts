import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LongWrites, longestWrite } from './long-writes.ts';

/** A response that notes what is written to it. */
class Response {
  destroyed = false;
  writableLength = 0;
  writableNeedDrain = false;
  readonly parts: (string | Buffer)[] = [];
  ended = 0;
  readonly #listeners: (() => void)[] = [];

  write(chunk: string | Buffer): boolean {
    expect(this.ended).toBe(0);
    this.parts.push(chunk);
    return true;
  }

  end(): void {
    this.ended++;
  }

  once(_event: 'drain', listener: () => void): void {
    this.#listeners.push(listener);
  }

  destroy(): void {
    this.destroyed = true;
  }

  drain(): void {
    this.writableNeedDrain = false;
    for (const listener of this.#listeners.splice(0)) listener();
  }

  get bytes(): Buffer {
    return Buffer.concat(this.parts.map((part) => Buffer.from(part)));
  }
}

function writes(): { response: Response; long: LongWrites; turns: () => number; ended: () => Promise<void> } {
  const response = new Response();
  let turns = 0;
  const long = new LongWrites(response, {
    writingTurn: async () => {
      turns++;
      await setImmediate();
    },
  });
  const ended = async (): Promise<void> => {
    for (let left = 100; left > 0 && response.ended === 0; left--) await setImmediate();
    expect(response.ended).toBe(1);
  };
  return { response, long, turns: () => turns, ended };
}

test('short texts are written at once', () => {
  const { response, long, turns } = writes();
  long.write('a');
  long.write(Buffer.from('b'));
  long.end();
  expect([response.parts.length, response.ended, turns()]).toEqual([2, 1, 0]);
});

test.each([
  ['text', 'é'.repeat(5 * longestWrite)],
  ['text that would be cut within a character', `a${'😀'.repeat(longestWrite)}`],
  ['bytes', Buffer.alloc(5 * longestWrite, 'abcdef')],
])('long %s is written in parts, and what follows comes after it', async (_name, chunk) => {
  const { response, long, turns, ended } = writes();
  long.write('before ');
  long.write(chunk);
  long.write(' after');
  long.end();
  expect(response.parts).toEqual(['before ']);
  expect(long.pending).toBe(chunk.length + ' after'.length);
  await ended();
  expect(long.pending).toBe(0);
  expect(Math.max(...response.parts.map(({ length }) => length))).toBeLessThanOrEqual(longestWrite);
  expect(turns()).toBeGreaterThanOrEqual(Math.floor(chunk.length / longestWrite));
  expect(response.bytes.equals(Buffer.concat([Buffer.from('before '), Buffer.from(chunk), Buffer.from(' after')]))).toBe(true);
});

test('calls back when the client has read what waited, too', async () => {
  const { response, long } = writes();
  let called = 0;
  long.write('x'.repeat(3 * longestWrite));
  long.onDrain(() => called++);
  response.writableNeedDrain = true;
  while (response.parts.length < 3) await setImmediate();
  await setImmediate();
  expect(called).toBe(0);
  response.drain();
  expect(called).toBe(1);
});

test('cuts a response that cannot be written', async () => {
  const { response, long } = writes();
  response.write = () => {
    throw new Error('not now');
  };
  long.write('x'.repeat(3 * longestWrite));
  long.end();
  for (let left = 20; left > 0; left--) await setImmediate();
  expect([response.destroyed, response.ended]).toEqual([true, 0]);
});

test('writes nothing more when the client has left', async () => {
  const { response, long } = writes();
  let called = 0;
  long.write('x'.repeat(5 * longestWrite));
  long.onDrain(() => called++);
  while (response.parts.length < 2) await setImmediate();
  response.destroyed = true;
  long.end();
  for (let left = 20; left > 0; left--) await setImmediate();
  expect([response.parts.length, response.ended, called]).toEqual([2, 0, 1]);
});
