import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { whileSpace } from './watch.ts';

const never = new AbortController().signal;

test('work that would fill the disk is aborted, and does not begin on a full one', async () => {
  let reserve = 0;
  const disk = { folder: tmpdir(), spare: () => reserve, interval: 5 };
  expect(await whileSpace(disk, never, async () => 'done')).toBe('done');
  const filling = whileSpace(disk, never, async (signal) => {
    reserve = Number.POSITIVE_INFINITY;
    await once(signal, 'abort');
    signal.throwIfAborted();
  });
  await expect(filling).rejects.toMatchObject({ name: 'NoSpace' });
  await expect(whileSpace(disk, never, () => Promise.reject(new Error('it has begun')))).rejects.toMatchObject({ name: 'NoSpace' });
});

test('other failures stay what they are', async () => {
  const disk = { folder: tmpdir(), spare: () => 0, interval: 5 };
  await expect(whileSpace(disk, never, () => Promise.reject(new Error('other')))).rejects.toThrow('other');
});
