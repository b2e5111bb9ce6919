import type { NodeVolume, UsageAppend, UsageFact } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import type { Ledger } from '../usage/ledger-client.ts';
import { StorageUsage } from './usage.ts';

/** Stores reports as the ledger of the API server does. */
class TestLedger implements Ledger {
  readonly facts = new Map<string, UsageFact>();
  clock: string | undefined;
  isDown = false;

  async append({ facts, ends, clock }: UsageAppend): Promise<void> {
    if (this.isDown) throw new Error('the ledger cannot be used');
    for (const fact of facts) if (!this.facts.has(fact.attempt)) this.facts.set(fact.attempt, fact);
    for (const { end, except } of ends)
      for (const [attempt, fact] of this.facts)
        if (attempt !== except && fact.end === undefined) this.facts.set(attempt, { ...fact, end: [end, fact.begin].toSorted().at(-1)! });
    if (this.clock === undefined || clock > this.clock) this.clock = clock;
  }

  async state(owner: object | undefined) {
    const facts = owner === undefined ? [] : [...this.facts.values()];
    return {
      begun: facts.length > 0,
      open: facts.some(({ end }) => end === undefined),
      ...(this.clock !== undefined && { clock: this.clock }),
    };
  }

  get times(): (string | undefined)[][] {
    return [...this.facts.values()].map(({ storage, begin, end }) => [String(storage), begin, end]);
  }
}

const volume = (size: number, spec: object = {}): NodeVolume =>
  ({
    metadata: { name: 'v', namespace: 'node-n1', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { owner: { cluster: 'c', path: 'root:acme', namespace: 'default', name: 'data', uid: 'v' }, size, deleted: false, ...spec },
  }) as unknown as NodeVolume;
const at = (text: string) => ({ wall: () => Date.parse(text), monotonic: () => 0 });

describe('the usage of storages', () => {
  test('has a fact for each size, from the creation until the deletion, however often agents restart', async () => {
    const ledger = new TestLedger();
    const first = new StorageUsage(ledger, at('2026-01-01T00:00:01Z'));
    for (let count = 0; count < 3; count++) await first.keep(volume(4));
    expect(ledger.times).toEqual([['4', '2026-01-01T00:00:00Z', undefined]]);
    expect([...ledger.facts.values()][0]).toMatchObject({ workspace: 'root:acme', name: 'data', node: 'n1', gpus: 0, storage: 4 });
    await new StorageUsage(ledger, at('2026-01-01T01:00:00Z')).keep(volume(4));
    const grown = ['8', '2026-01-01T02:00:00.000Z'];
    for (let count = 0; count < 2; count++) await new StorageUsage(ledger, at('2026-01-01T02:00:00Z')).keep(volume(8));
    expect(ledger.times).toEqual([
      ['4', '2026-01-01T00:00:00Z', '2026-01-01T02:00:00.000Z'],
      [...grown, undefined],
    ]);
    for (const hour of ['03', '04']) await new StorageUsage(ledger, at(`2026-01-01T${hour}:00:00Z`)).end(volume(8));
    await new StorageUsage(ledger, at('2026-01-01T05:00:00Z')).keep(volume(8, { deleted: true }));
    expect(ledger.times[1]).toEqual([...grown, '2026-01-01T03:00:00.000Z']);
  });

  test('does not go back when the clock of the machine is set back', async () => {
    const ledger = new TestLedger();
    await new StorageUsage(ledger, at('2026-01-01T02:00:00Z')).keep(volume(4));
    await new StorageUsage(ledger, at('2025-06-01T00:00:00Z')).end(volume(4));
    expect(ledger.times).toEqual([['4', '2026-01-01T00:00:00Z', '2026-01-01T02:00:00.000Z']]);
  });

  test('is reported again if the ledger could not be used', async () => {
    const ledger = new TestLedger();
    const usage = new StorageUsage(ledger, at('2026-01-01T00:00:01Z'));
    ledger.isDown = true;
    await expect(usage.keep(volume(4))).rejects.toThrow('cannot be used');
    ledger.isDown = false;
    await usage.keep(volume(4));
    expect(ledger.times).toHaveLength(1);
  });
});
