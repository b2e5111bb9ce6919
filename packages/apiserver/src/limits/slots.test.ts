import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Slots } from './slots.ts';

/** Calls that end when they are told to. */
class Calls {
  readonly slots: Slots;
  readonly running: { readonly tenant: string; readonly end: () => void }[] = [];
  readonly ended: Promise<unknown>[] = [];

  constructor(overall: number, perTenant: number) {
    this.slots = new Slots({ overall, perTenant });
  }

  start(tenant: string, signal = new AbortController().signal): void {
    this.ended.push(
      this.slots
        .within(tenant, signal, () => {
          const { promise, resolve } = Promise.withResolvers<void>();
          this.running.push({ tenant, end: resolve });
          return promise;
        })
        .catch((error: unknown) => error),
    );
  }

  of(tenant: string): number {
    return this.running.filter((call) => call.tenant === tenant).length;
  }

  async endFirst(): Promise<void> {
    this.running.shift()?.end();
    await settle();
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('slots', () => {
  it('limit the calls of a tenant, and leave room for others', async () => {
    const calls = new Calls(100, 3);
    for (let count = 0; count < 50; count++) calls.start('greedy');
    calls.start('other');
    await settle();
    expect([calls.of('greedy'), calls.of('other')]).toEqual([3, 1]);
    await calls.endFirst();
    expect([calls.of('greedy'), calls.slots.total]).toEqual([3, 4]);
  });

  it('go to the tenants in turn', async () => {
    const calls = new Calls(1, 1);
    for (const tenant of ['a', 'a', 'a', 'b']) calls.start(tenant);
    await settle();
    const order: string[] = [];
    while (calls.running.length > 0) {
      order.push(calls.running[0]!.tenant);
      await calls.endFirst();
    }
    expect(order).toEqual(['a', 'a', 'b', 'a']);
  });

  it('forget a call that gave up', async () => {
    const calls = new Calls(1, 1);
    const patience = new AbortController();
    calls.start('a');
    calls.start('b', patience.signal);
    calls.start('c');
    patience.abort(new Error('too late'));
    expect(await calls.ended[1]).toEqual(new Error('too late'));
    await calls.endFirst();
    expect([calls.of('b'), calls.of('c')]).toEqual([0, 1]);
  });

  it('are never exceeded, and all come back', async () => {
    const step = fc.oneof(
      fc.constantFrom('a', 'b', 'c').map((tenant) => ({ tenant })),
      fc.constant({ tenant: undefined }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const calls = new Calls(8, 3);
        for (const { tenant } of steps) {
          if (tenant === undefined) await calls.endFirst();
          else calls.start(tenant);
          expect(calls.slots.total).toBeLessThanOrEqual(8);
          for (const one of ['a', 'b', 'c']) expect(calls.of(one)).toBeLessThanOrEqual(3);
        }
        await settle();
        while (calls.running.length > 0) await calls.endFirst();
        await Promise.all(calls.ended);
        expect(calls.slots.total).toBe(0);
      }),
      { numRuns: 50 },
    );
  });
});
