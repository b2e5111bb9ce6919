import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { allEnded } from './all-ended.ts';

test('rejects with the first reason in order, when nothing is under way any more', async () => {
  const ended: string[] = [];
  const slow = sleep(20).then(() => void ended.push('slow'));
  await expect(
    allEnded([slow, sleep(5).then(() => Promise.reject(new Error('second'))), Promise.reject(new Error('third'))]),
  ).rejects.toThrow('second');
  expect(ended).toEqual(['slow']);
});

test('resolves with all values', async () => {
  expect(await allEnded([Promise.resolve(1), 'two', undefined])).toEqual([1, 'two', undefined]);
});
