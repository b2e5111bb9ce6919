import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Refresher } from './refresher.ts';

describe('a list whose objects change', () => {
  let begun: PromiseWithResolvers<void>[];
  let refresher: Refresher;

  beforeEach(() => {
    vi.useFakeTimers();
    begun = [];
    refresher = new Refresher(() => {
      begun.push(Promise.withResolvers<void>());
      return begun.at(-1)!.promise;
    });
  });
  afterEach(() => {
    refresher[Symbol.dispose]();
    vi.useRealTimers();
  });

  test('is read once for all changes of a pause', async () => {
    for (let change = 0; change < 5; change++) refresher.changed(100);
    await vi.advanceTimersByTimeAsync(1000);
    expect(begun).toHaveLength(1);
  });

  test('is read even if it never stops changing', async () => {
    for (let change = 0; change < 10; change++) {
      refresher.changed(100);
      await vi.advanceTimersByTimeAsync(50);
    }
    expect(begun).toHaveLength(1);
  });

  test('is read again after a change while it was read, and never twice at a time', async () => {
    refresher.changed(100);
    await vi.advanceTimersByTimeAsync(100);
    refresher.changed(100);
    await vi.advanceTimersByTimeAsync(1000);
    expect(begun).toHaveLength(1);
    begun[0]!.resolve();
    await vi.advanceTimersByTimeAsync(100);
    expect(begun).toHaveLength(2);
  });

  test('is not read any more when nobody looks', async () => {
    refresher.changed(100);
    refresher[Symbol.dispose]();
    refresher.changed(100);
    await vi.advanceTimersByTimeAsync(1000);
    expect(begun).toEqual([]);
  });
});
