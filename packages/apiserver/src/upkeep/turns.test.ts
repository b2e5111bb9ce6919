import { status } from '@capstan/machinery';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Turns } from './turns.ts';

const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

/** Work that ends when the test decides. */
function bench(options: { retryAfter?: number } = {}) {
  const begun: string[] = [];
  const errors: unknown[] = [];
  let current: PromiseWithResolvers<void> | undefined;
  const turns = new Turns<string>({
    work: (item) => {
      begun.push(item);
      current = Promise.withResolvers();
      return current.promise;
    },
    onError: (error) => errors.push(error),
    ...options,
  });
  const end = (error?: Error): Promise<void> => {
    if (error === undefined) current!.resolve();
    else current!.reject(error);
    return settle();
  };
  return { turns, begun, errors, end };
}

describe('turns', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('starts work after the caller has continued', async () => {
    const { turns, begun } = bench();
    turns.ask('one');
    expect(begun).toEqual([]);
    await settle();
    expect(begun).toEqual(['one']);
  });

  it('works on one item at a time, in the order requested', async () => {
    const { turns, begun, end } = bench();
    turns.ask('one');
    turns.ask('two');
    await settle();
    turns.ask('three');
    expect(begun).toEqual(['one']);
    await end();
    expect(begun).toEqual(['one', 'two']);
    await end();
    expect(begun).toEqual(['one', 'two', 'three']);
  });

  it('works once on an item requested twice before its turn', async () => {
    const { turns, begun, end } = bench();
    turns.ask('one');
    turns.ask('one');
    await settle();
    await end();
    expect(begun).toEqual(['one']);
  });

  it('works again on an item requested while it is being worked on', async () => {
    const { turns, begun, end } = bench();
    turns.ask('one');
    await settle();
    turns.ask('one');
    await end();
    expect(begun).toEqual(['one', 'one']);
  });

  it('resumes after being idle', async () => {
    const { turns, begun, end } = bench();
    turns.ask('one');
    await settle();
    await end();
    turns.ask('two');
    await settle();
    expect(begun).toEqual(['one', 'two']);
  });

  it('reports a failure and continues with the next item', async () => {
    const { turns, begun, errors, end } = bench();
    turns.ask('one');
    turns.ask('two');
    await settle();
    const error = new Error('no');
    await end(error);
    expect(errors).toEqual([error]);
    expect(begun).toEqual(['one', 'two']);
    await end();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('treats "not found" as done', async () => {
    const { turns, errors, end } = bench({ retryAfter: 1000 });
    turns.ask('one');
    await settle();
    await end(status.notFound({ group: '', resource: 'configmaps' }, 'one'));
    expect(errors).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('retries every failed item after the configured delay', async () => {
    const { turns, begun, end } = bench({ retryAfter: 1000 });
    turns.ask('one');
    turns.ask('two');
    await settle();
    await end(new Error('no'));
    await end(new Error('no'));
    vi.advanceTimersByTime(1000);
    await settle();
    await end();
    expect(begun).toEqual(['one', 'two', 'one', 'two']);
  });

  it('starts nothing after disposal and does not report failures then', async () => {
    const { turns, begun, errors, end } = bench({ retryAfter: 1000 });
    turns.ask('failed');
    turns.ask('one');
    turns.ask('two');
    await settle();
    await end(new Error('before'));
    turns[Symbol.dispose]();
    await end(new Error('after'));
    turns.ask('three');
    await settle();
    expect(begun).toEqual(['failed', 'one']);
    expect(errors).toEqual([new Error('before')]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
