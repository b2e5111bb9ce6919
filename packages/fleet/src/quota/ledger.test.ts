import type { FleetLimits, FleetQuotaSpec } from '@capstan/api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QuotaLedger } from './ledger.ts';
import type { QuotaAmount } from './limits.ts';
import { modelKey } from './measures.ts';

const gibibyte = 2 ** 30;
const amount = (rest: QuotaAmount): QuotaAmount => ({ allocations: 1, ...rest });
const h100 = (gpus: number): QuotaAmount => amount({ gpus, [modelKey('H100')]: gpus, gpuMemory: gpus * 80 * gibibyte });
const quota = (workspace: string, limits: FleetLimits): FleetQuotaSpec => ({ workspace, homes: false, limits });
const homes = (limits: FleetLimits): FleetQuotaSpec => ({ homes: true, limits });

function messages(ledger: QuotaLedger, workspace: string, asked: QuotaAmount, allocation?: string): string[] {
  return ledger.check(workspace, asked, allocation).map(({ message }) => message);
}

describe('a quota', () => {
  it('limits a model, the GPUs and their memory', () => {
    const ledger = new QuotaLedger([quota('root:acme', { gpus: 16, models: { H100: 8 }, gpuMemory: '640Gi' })]);
    ledger.setUse('a', 'root:acme', h100(6));
    expect(messages(ledger, 'root:acme', h100(2))).toEqual([]);
    expect(messages(ledger, 'root:acme', h100(4))).toEqual([
      'the limit of root:acme is 8 H100; 6 H100 are in use, and 4 H100 were asked for',
      'the limit of root:acme is 640 GiB of GPU memory; 480 GiB of GPU memory are in use, and 320 GiB of GPU memory were asked for',
    ]);
    expect(messages(ledger, 'root:acme', amount({ gpus: 11, [modelKey('A100')]: 11 }))).toEqual([
      'the limit of root:acme is 16 GPUs; 6 GPUs are in use, and 11 GPUs were asked for',
    ]);
  });

  it('limits the sizes of storages, which are no allocations', () => {
    const ledger = new QuotaLedger([quota('root:acme', { storage: '10Gi', allocations: 1 })]);
    const storage = (gibibytes: number): QuotaAmount => ({ storage: gibibytes * gibibyte });
    ledger.setUse('a', 'root:acme:a', storage(4));
    ledger.setUse('b', 'root:acme:b', storage(4));
    expect(messages(ledger, 'root:acme:c', storage(2))).toEqual([]);
    expect(messages(ledger, 'root:acme:c', storage(3))).toEqual([
      'the limit of root:acme is 10 GiB of storage; 8 GiB of storage are in use, and 3 GiB of storage were asked for',
    ]);
    expect(messages(ledger, 'root:acme:a', storage(6), 'a')).toEqual([]);
    expect(messages(ledger, 'root:acme:a', h100(1))).toEqual([]);
    for (const id of ['a', 'b']) ledger.clearUse(id);
    expect(ledger.uses('root:acme').map(({ used }) => used)).toEqual([0, 0]);
  });

  it('limits cores, memory and the number of allocations', () => {
    const ledger = new QuotaLedger([quota('root:acme', { cpu: '1500m', memory: '4Gi', allocations: 1 })]);
    expect(messages(ledger, 'root:acme', amount({ cpu: 1_500, memory: 4 * gibibyte }))).toEqual([]);
    ledger.setUse('a', 'root:acme', amount({ cpu: 1_000 }));
    expect(messages(ledger, 'root:acme', amount({ cpu: 1_000, memory: 5 * gibibyte }))).toEqual([
      'the limit of root:acme is 1.5 CPUs; 1 CPU is in use, and 1 CPU was asked for',
      'the limit of root:acme is 4 GiB of memory; 0 GiB of memory are in use, and 5 GiB of memory were asked for',
      'the limit of root:acme is 1 allocation; 1 allocation is in use, and 1 allocation was asked for',
    ]);
  });

  it('holds for the sum of everything below a workspace, and names the workspace whose limit it is', () => {
    const ledger = new QuotaLedger([quota('root:acme', { gpus: 10 }), quota('root:acme:a', { gpus: 8 })]);
    ledger.setUse('1', 'root:acme:a', h100(4));
    ledger.setUse('2', 'root:acme:b', h100(4));
    expect(ledger.check('root:acme:a', h100(3))).toMatchObject([
      { workspace: 'root:acme', resource: 'gpus', limit: 10, used: 8, asked: 3, isPermanent: false },
    ]);
    expect(ledger.check('root:acme:a', h100(9)).map(({ workspace, isPermanent }) => [workspace, isPermanent])).toEqual([
      ['root:acme:a', true],
      ['root:acme', false],
    ]);
    expect(ledger.check('root:acmeplus', h100(99))).toEqual([]);
  });

  it('has a default for homes, which holds for each of them with everything below it', () => {
    const ledger = new QuotaLedger([homes({ gpus: 2 }), quota('user:bob', { gpus: 4 })]);
    expect(messages(ledger, 'user:ann', h100(3))).toEqual([
      'the limit of user:ann is 2 GPUs; 0 GPUs are in use, and 3 GPUs were asked for',
    ]);
    expect(messages(ledger, 'user:bob', h100(3))).toEqual([]);
    expect(messages(ledger, '1dpddb2vcnn972u1', h100(3))).toHaveLength(1);
    ledger.setUse('1', 'user:ann:project', h100(2));
    expect(messages(ledger, 'user:ann', h100(1))).toHaveLength(1);
    expect(messages(ledger, 'user:eve', h100(1))).toEqual([]);
    expect(messages(ledger, 'root:acme', h100(99))).toEqual([]);
  });

  it('is the smallest of all for the same workspace', () => {
    const ledger = new QuotaLedger([
      quota('root:acme', { gpus: 9, models: { H100: 4 } }),
      quota('root:acme', { gpus: 5, models: { A100: 1 } }),
    ]);
    expect(ledger.uses('root:acme').map(({ model, limit }) => [model, limit])).toEqual([
      ['H100', 4],
      ['A100', 1],
      [undefined, 5],
    ]);
  });

  it('does not count an allocation twice that is checked again', () => {
    const ledger = new QuotaLedger([quota('root:acme', { gpus: 8, models: { H100: 4 } })]);
    ledger.setUse('any', 'root:acme', amount({ gpus: 6 }));
    expect(messages(ledger, 'root:acme', amount({ gpus: 6, [modelKey('A100')]: 6 }), 'any')).toEqual([]);
    expect(ledger.check('root:acme', h100(6), 'any')).toMatchObject([{ resource: 'model', limit: 4, used: 0, asked: 6 }]);
    expect(ledger.check('root:acme', h100(3))).toMatchObject([{ resource: 'gpus', used: 6 }]);
  });

  it('counts what a sum over all allocations says', () => {
    const paths = ['root:a', 'root:a:x', 'root:a:y', 'root:b'];
    const steps = fc.array(fc.record({ id: fc.nat(5), path: fc.constantFrom(...paths), gpus: fc.nat(4), isCleared: fc.boolean() }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(steps, (list) => {
        const ledger = new QuotaLedger(['root', ...paths].map((path) => quota(path, { gpus: 0 })));
        const uses = new Map<number, { path: string; gpus: number }>();
        for (const { id, path, gpus, isCleared } of list) {
          if (isCleared) ledger.clearUse(`${id}`);
          else ledger.setUse(`${id}`, path, h100(gpus));
          if (isCleared) uses.delete(id);
          else uses.set(id, { path, gpus });
          const used = [...uses.values()]
            .filter((use) => use.path === 'root:a' || use.path.startsWith('root:a:'))
            .reduce((sum, use) => sum + use.gpus, 0);
          expect(ledger.check('root:a', h100(1))[0]).toMatchObject({ workspace: 'root:a', used });
        }
      }),
    );
  });
});
