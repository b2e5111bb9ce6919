import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Child } from '../child.ts';
import { temporaryDirectory } from '../temporary.ts';
import { withLock } from './lock.ts';

test('runs the work of two waiters one after the other', async () => {
  using directory = temporaryDirectory('lock');
  const seen: string[] = [];
  const work = (name: string): Promise<void> =>
    withLock(directory.join('lock'), async () => {
      seen.push(`${name} begins`);
      await sleep(10);
      seen.push(`${name} ends`);
    });
  await Promise.all([work('one'), work('two')]);
  expect(seen).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
});

test('does not wait if the signal is already aborted', async () => {
  using directory = temporaryDirectory('lock');
  const file = directory.join('lock');
  await withLock(file, async () => {
    const second = withLock(file, () => Promise.resolve(), AbortSignal.abort());
    await expect(second).rejects.toThrow(`another process holds ${file}, and there was no time left to wait for it`);
  });
});

test('releases the lock when the work fails', async () => {
  using directory = temporaryDirectory('lock');
  await expect(withLock(directory.join('lock'), () => Promise.reject(new Error('no compiler')))).rejects.toThrow('no compiler');
  expect(await withLock(directory.join('lock'), () => Promise.resolve('built'))).toBe('built');
});

test('releases the lock of a killed process', async () => {
  using directory = temporaryDirectory('lock');
  const file = directory.join('lock');
  const script = `
    import { withLock } from ${JSON.stringify(new URL('./lock.ts', import.meta.url).href)};
    await withLock(${JSON.stringify(file)}, () => { console.log('held'); return new Promise((done) => setTimeout(done, 600_000)); });
  `;
  await using holder = new Child('holder', [process.execPath, '--input-type=module', '--eval', script]);
  await holder.waitUntil('held', () => holder.output.includes('held'));
  let taken = false;
  const waiting = withLock(file, async () => {
    taken = true;
  });
  await sleep(300);
  expect(taken).toBe(false);
  await holder.kill();
  await waiting;
  expect(taken).toBe(true);
});
