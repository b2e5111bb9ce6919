import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TimedLog } from './timed-log.ts';

interface Line {
  readonly nanoseconds: number;
  readonly text: string;
}

const base = Date.UTC(2026, 0, 1) / 1000;
/** As Go prints it: without trailing zeros. */
const timeOf = (nanoseconds: number): string => {
  const seconds = new Date((base + Math.floor(nanoseconds / 1e9)) * 1000).toISOString().slice(0, 19);
  const fraction = String(nanoseconds % 1e9)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${seconds}${fraction === '' ? '' : `.${fraction}`}Z`;
};
const logOf = (lines: readonly Line[]): Buffer =>
  Buffer.from(lines.map(({ nanoseconds, text }) => `${timeOf(nanoseconds)} ${text}\n`).join(''));

/** A server that sends whole lines since a time. */
const since = (lines: readonly Line[], time: string | undefined): Buffer =>
  logOf(lines.filter(({ nanoseconds }) => time === undefined || (base + nanoseconds / 1e9) * 1000 >= Date.parse(time)));

test('passes on the text of lines, as it arrives and without times', () => {
  const read: string[] = [];
  const reader = new TimedLog((bytes) => void read.push(bytes.toString()));
  reader.push(Buffer.from('2026-01-01T00:00:00.5Z Password'));
  reader.push(Buffer.from(': '));
  expect(read.join('')).toBe('Password: ');
  reader.push(Buffer.from('\n2026-01-01T00:00:01Z \n2026-01-01T00:0'));
  reader.push(Buffer.from('0:02Z last\nno time here\n'));
  expect(read.join('')).toBe('Password: \n\nlast\nno time here\n');
});

test('keeps times if asked', () => {
  let read = '';
  const reader = new TimedLog((bytes) => (read += bytes.toString()), { keepTimes: true });
  reader.push(Buffer.from('2026-01-01T00:00:00Z a\n'));
  expect(reader.resume()).toBe('2026-01-01T00:00:00Z');
  reader.push(Buffer.from('2026-01-01T00:00:00Z a\n2026-01-01T00:00:01Z b\n'));
  expect(read).toBe('2026-01-01T00:00:00Z a\n2026-01-01T00:00:01Z b\n');
});

test('wherever streams break, each line is passed on once and whole', () => {
  const lines = fc
    .array(fc.record({ step: fc.constantFrom(0, 0, 1, 1000, 400_000_000, 2_000_000_000), text: fc.string({ maxLength: 8 }) }), {
      maxLength: 30,
    })
    .map((steps) => {
      let nanoseconds = 0;
      return steps.map(({ step, text }) => ({ nanoseconds: (nanoseconds += step), text: text.replaceAll(/[\r\n]/g, '') }));
    });
  fc.assert(
    fc.property(lines, fc.array(fc.nat(400), { maxLength: 6 }), fc.integer({ min: 1, max: 50 }), (all, breaks, chunk) => {
      const read: Buffer[] = [];
      const reader = new TimedLog((bytes) => void read.push(Buffer.from(bytes)));
      for (const length of [...breaks, Number.POSITIVE_INFINITY]) {
        const bytes = since(all, reader.resume()).subarray(0, length);
        for (let at = 0; at < bytes.length; at += chunk) reader.push(bytes.subarray(at, at + chunk));
      }
      expect(Buffer.concat(read).toString()).toBe(all.map(({ text }) => `${text}\n`).join(''));
    }),
    { numRuns: 2000 },
  );
});

test('a torn line whose rest is gone is ended before the next one', () => {
  let read = '';
  const reader = new TimedLog((bytes) => (read += bytes.toString()));
  reader.push(Buffer.from('2026-01-01T00:00:00Z torn'));
  reader.resume();
  reader.push(Buffer.from('2026-01-01T00:00:09+01:00 old\n2026-01-01T00:00:05.25Z next\n'));
  expect(read).toBe('torn\nnext\n');
});
