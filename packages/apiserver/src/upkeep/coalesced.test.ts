import { expect, test } from 'vitest';
import { coalesced } from './coalesced.ts';

test('calls during a run cause one more run, never two at once', async () => {
  const gates: (() => void)[] = [];
  let atOnce = 0;
  let most = 0;
  const run = coalesced(async () => {
    most = Math.max(most, ++atOnce);
    await new Promise<void>((resolve) => gates.push(resolve));
    atOnce--;
  });
  const first = run();
  await Promise.all([run(), run(), run()]);
  expect(gates).toHaveLength(1);
  gates[0]!();
  await expect.poll(() => gates.length).toBe(2);
  gates[1]!();
  await first;
  expect([gates.length, most]).toEqual([2, 1]);
});

test('rejects on failure, and the next call runs again', async () => {
  let calls = 0;
  const run = coalesced(() => (++calls === 1 ? Promise.reject(new Error('once')) : Promise.resolve()));
  await expect(run()).rejects.toThrow('once');
  await run();
  expect(calls).toBe(2);
});
