import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { temporaryDirectory } from '@capstan/testbed';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Engine } from '../engine.ts';
import { LogCursor } from './cursor.ts';
import { DockerLog } from './log.ts';
import { lineOf, type Message, MessageReader } from './messages.ts';

const at = (nanoseconds: number): string =>
  `2026-01-01T00:00:${String(Math.floor(nanoseconds / 1e9)).padStart(2, '0')}.${String(nanoseconds % 1e9).padStart(9, '0')}Z`;

function frame({ stream, time, text, isPartial }: Message): Buffer {
  const body = Buffer.concat([Buffer.from(`${time} `), text, Buffer.from(isPartial ? '' : '\n')]);
  const head = Buffer.alloc(8);
  head[0] = stream === 'stderr' ? 2 : 1;
  head.writeUInt32BE(body.length, 4);
  return Buffer.concat([head, body]);
}

const message = (stream: Message['stream'], nanoseconds: number, text: string, isPartial = false): Message => ({
  stream,
  time: at(nanoseconds),
  text: Buffer.from(text),
  isPartial,
});

test('messages are read from frames, however they are cut', () => {
  const messages = [message('stdout', 1, 'one'), message('stderr', 2, ''), message('stdout', 3, 'long', true), message('stdout', 3, 'er')];
  const bytes = Buffer.concat(messages.map(frame));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), (size) => {
      const reader = new MessageReader(false);
      const found: Message[] = [];
      for (let start = 0; start < bytes.length; start += size) found.push(...reader.read(bytes.subarray(start, start + size)));
      expect(found).toEqual(messages);
    }),
  );
  expect(lineOf(messages[2]!).toString()).toBe(`${at(3)} stdout P long\n`);
});

test('lines of a terminal lose the times in their middle', () => {
  const [first, second] = ['x'.repeat(16_384), `y ${at(5)} z`];
  const found = new MessageReader(true).read(Buffer.from(`${at(5)} ${first}${at(5)} ${second}\r\n${at(6)} next\r\n`));
  expect(found.map(({ text, isPartial }) => [text.toString(), isPartial])).toEqual([
    [first, true],
    [`${second}\r`, false],
    ['next\r', false],
  ]);
});

/** Docker sends messages since a time, whole and in their order. */
const since = (all: readonly Message[], seconds: string | undefined): readonly Message[] => {
  if (seconds === undefined) return all;
  const [second, fraction] = seconds.split('.');
  const time = `${new Date(Number(second) * 1000).toISOString().slice(0, 19)}.${fraction}Z`;
  return all.filter((one) => one.time >= time);
};

test('wherever an agent ends, the next one copies each message once', () => {
  const steps = fc.array(
    fc.record({
      stream: fc.constantFrom('stdout' as const, 'stderr' as const),
      step: fc.constantFrom(0, 0, 1, 900_000_000),
      text: fc.string({ maxLength: 4 }),
    }),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(steps, fc.array(fc.nat(12), { maxLength: 5 }), (all, ends) => {
      let nanoseconds = 0;
      const messages = all.map(({ stream, step, text }) => message(stream, (nanoseconds += step), text.replaceAll(/[\r\n]/g, '')));
      const lines: string[] = [];
      for (const count of [...ends, Number.POSITIVE_INFINITY]) {
        const cursor = LogCursor.after(lines);
        const fresh = since(messages, cursor.begin()).filter((one) => cursor.take(one));
        lines.push(...fresh.slice(0, count).map((one) => lineOf(one).toString().slice(0, -1)));
      }
      expect(lines).toEqual(messages.map((one) => lineOf(one).toString().slice(0, -1)));
    }),
    { numRuns: 1000 },
  );
});

test('two drivers that notice the end at the same time copy each message once', async () => {
  using directory = temporaryDirectory('docker-log');
  const messages = [message('stdout', 1, 'one'), message('stdout', 2, 'two')];
  async function* frames(): AsyncGenerator<Buffer> {
    for (const one of messages) {
      await setImmediate();
      yield frame(one);
    }
  }
  const engine: Pick<Engine, 'call' | 'stream'> = {
    call: <Answer>() => Promise.resolve({ Config: { Tty: false } } as Answer),
    stream: () => Promise.resolve(Readable.from(frames()) as IncomingMessage),
  };
  const log = DockerLog.in(directory.path, { engine: engine as Engine, path: '/containers/a', log: { files: 2, bytes: 65_536 } });
  const ended = [log.finish(), log.finish()];
  log.keep();
  await Promise.all(ended);
  expect(readFileSync(directory.join('output'), 'utf8')).toBe(messages.map((one) => lineOf(one).toString()).join(''));
  log.close();
});
