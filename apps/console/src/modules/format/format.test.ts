import { expect, test } from 'vitest';
import { amountOf, bytes, cores, count, sentence, since } from './format.ts';

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1 KiB'],
  [1536, '1.5 KiB'],
  [151 * 1024 ** 3, '151 GiB'],
  [2 * 1024 ** 5, '2 PiB'],
])('%d bytes are %s', (amount, text) => expect(bytes(amount)).toBe(text));

test.each([
  ['64Gi', 64 * 1024 ** 3],
  [8, 8],
  ['', undefined],
  [undefined, undefined],
  ['much', undefined],
])('the quantity %s is %s', (quantity, amount) => expect(amountOf(quantity)).toBe(amount));

test.each([
  [1000, '1 core'],
  [500, '0.5 cores'],
  [6, '0.006 cores'],
  [128_000, '128 cores'],
])('%d thousandths are %s', (millis, text) => expect(cores(millis)).toBe(text));

test('counts things', () => {
  expect(count(1, 'GPU')).toBe('1 GPU');
  expect(count(1200, 'GPU')).toBe('1,200 GPUs');
  expect(count(2, 'entry', 'entries')).toBe('2 entries');
});

test('says how long ago something was, and nothing for what never was', () => {
  const now = Date.parse('2026-01-01T01:00:00Z');
  expect(since('2026-01-01T00:58:00Z', now)).toBe('2m');
  expect(since(undefined, now)).toBe('–');
  expect(since('2026-01-01T01:00:09Z', now)).toBe('0s');
});

test.each([
  ['waits for a GPU', 'Waits for a GPU'],
  ['needs 8 H100 on one node', 'Needs 8 H100 on one node'],
  ['gpu-10 is drained', 'gpu-10 is drained'],
  ['root:main may have 32 GPUs', 'root:main may have 32 GPUs'],
  ['', ''],
])('the message "%s" begins as "%s": names stay as they are', (text, shown) => expect(sentence(text)).toBe(shown));
