import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { withPauses } from './settle.ts';

test('a request that passes through the event loop several times meets one collection', async () => {
  const met: number[] = [];
  let collections = 0;
  let isOver = false;
  const collecting = withPauses(
    3,
    () => collections++,
    () => true,
  ).then(() => (isOver = true));
  while (!isOver) {
    const before = collections;
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    met.push(collections - before);
  }
  await collecting;
  expect(collections).toBe(3);
  expect(Math.max(...met)).toBe(1);
});

test('collections wait while the process is busy', async () => {
  let collections = 0;
  let asked = 0;
  await withPauses(
    2,
    () => collections++,
    () => ++asked > 3,
  );
  expect([collections, asked]).toEqual([2, 5]);
});
