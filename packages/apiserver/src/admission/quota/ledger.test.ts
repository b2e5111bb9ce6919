import { type KubeObject, measureOf, StatusError } from '@capstan/machinery';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AdmissionRequest } from '../../registry/admission.ts';
import type { Demand } from './demand.ts';
import { Ledger } from './ledger.ts';
import { readLimit } from './limit.ts';

const configMaps = { group: '', resource: 'configmaps' };

function mapDemand(name: string): Demand {
  const object: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
  const measure = measureOf(configMaps);
  const request = { resource: configMaps, name, object, subresource: '' } as unknown as AdmissionRequest;
  return { request, measure, source: 'configmaps', object, usage: measure.usage(object, new Date(0)), added: undefined };
}

const quotaOf = (name: string, hard: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name },
  status: { hard: { configmaps: String(hard) }, used: { configmaps: '0' } },
});

const usedOf = (quota: KubeObject): number => Number((quota['status'] as { used: { configmaps: string } }).used.configmaps);

/** Quotas that several servers write, each with its own stale copy. */
class SharedQuotas {
  readonly quotas: Map<string, KubeObject>;
  writes = 0;

  constructor(hard: Readonly<Record<string, number>>) {
    this.quotas = new Map(Object.entries(hard).map(([name, most]) => [name, quotaOf(name, most)]));
  }

  server(): Ledger {
    let copy = new Map(this.quotas);
    return new Ledger(
      {
        read: () => [...copy.values()].map(readLimit),
        write: async (name, change) => {
          for (;;) {
            const before = this.quotas.get(name);
            if (before === undefined) throw new StatusError({ code: 404, reason: 'NotFound', message: 'gone' });
            const after = change(structuredClone(before));
            // Simulates the duration of a write, in which others may write first.
            await new Promise((resolve) => setImmediate(resolve));
            if (this.quotas.get(name) !== before) continue;
            this.quotas.set(name, after);
            this.writes++;
            copy = new Map(this.quotas);
            return;
          }
        },
      },
      () => {},
    );
  }
}

const admitted = (results: readonly PromiseSettledResult<void>[]): number => results.filter(({ status }) => status === 'fulfilled').length;

it('several servers together admit exactly what fits into all quotas, and charge no more', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ a: fc.nat(20), b: fc.nat(20), servers: fc.integer({ min: 1, max: 4 }), demands: fc.nat(40) }),
      async ({ a, b, servers, demands }) => {
        const shared = new SharedQuotas({ a, b });
        const ledgers = Array.from({ length: servers }, () => shared.server());
        const results = await Promise.allSettled(
          Array.from({ length: demands }, (_, index) => ledgers[index % servers]!.charge(mapDemand(`m${index}`))),
        );
        // The refund for a demand that another quota rejected follows a moment later.
        await expect.poll(() => [...shared.quotas.values()].map(usedOf)).toEqual([admitted(results), admitted(results)]);
        expect(admitted(results)).toBeLessThanOrEqual(Math.min(a, b, demands));
        if (servers === 1) expect(admitted(results)).toBe(Math.min(a, b, demands));
      },
    ),
    { numRuns: 50 },
  );
});

it('concurrent demands are charged together', async () => {
  const shared = new SharedQuotas({ a: 100 });
  const ledger = shared.server();
  await Promise.all(Array.from({ length: 50 }, (_, index) => ledger.charge(mapDemand(`m${index}`))));
  expect([usedOf(shared.quotas.get('a')!), shared.writes]).toEqual([50, 2]);
});

it('a quota that is deleted meanwhile limits nothing', async () => {
  const shared = new SharedQuotas({ a: 0 });
  const ledger = shared.server();
  await expect(ledger.charge(mapDemand('m'))).rejects.toThrow('exceeded quota: a');
  const wide = new SharedQuotas({ a: 1 });
  const late = wide.server();
  wide.quotas.delete('a');
  await late.charge(mapDemand('m'));
});

it('demands are rejected while a quota cannot be written', async () => {
  const failing = new Ledger({ read: () => [readLimit(quotaOf('a', 5))], write: () => Promise.reject(new Error('no disk')) }, () => {});
  await expect(failing.charge(mapDemand('m'))).rejects.toThrow('no disk');
});
