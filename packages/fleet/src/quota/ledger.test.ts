import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QuotaLedger } from './ledger.ts';
import type { QuotaAmount } from './limits.ts';

const gibibyte = 2 ** 30;
const h100 = (gpus: number): QuotaAmount => ({ model: 'H100', gpus, gpuMemory: gpus * 80 * gibibyte });

function messages(ledger: QuotaLedger, workspace: string, asked: QuotaAmount, allocation?: string): string[] {
  return ledger.check(workspace, asked, allocation).map(({ message }) => message);
}

describe('a quota', () => {
  it('limits a model, the GPUs and their memory', () => {
    const ledger = new QuotaLedger();
    ledger.setWorkspace({
      path: 'root:acme',
      isHome: false,
      limits: { gpus: 16, models: { H100: 8 }, gpuMemory: 640 * gibibyte },
    });
    ledger.setUse('a', 'root:acme', h100(6));
    expect(messages(ledger, 'root:acme', h100(2))).toEqual([]);
    expect(messages(ledger, 'root:acme', h100(4))).toEqual([
      'the limit of root:acme is 8 H100; 6 H100 are in use, and 4 H100 were asked for',
      'the limit of root:acme is 640 GiB of GPU memory; 480 GiB of GPU memory are in use, and 320 GiB of GPU memory were asked for',
    ]);
    expect(messages(ledger, 'root:acme', { model: 'A100', gpus: 11, gpuMemory: 0 })).toEqual([
      'the limit of root:acme is 16 GPUs; 6 GPUs are in use, and 11 GPUs were asked for',
    ]);
  });

  it('holds for the sum of everything below a workspace, and names the workspace whose limit it is', () => {
    const ledger = new QuotaLedger();
    ledger.setWorkspace({ path: 'root:acme', isHome: false, limits: { gpus: 10 } });
    ledger.setWorkspace({ path: 'root:acme:a', isHome: false, limits: { gpus: 8 } });
    ledger.setWorkspace({ path: 'root:acme:b', isHome: false });
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

  it('has a default for homes', () => {
    const ledger = new QuotaLedger({ gpus: 2 });
    ledger.setWorkspace({ path: 'root:users:ann', isHome: true });
    ledger.setWorkspace({ path: 'root:users:bob', isHome: true, limits: { gpus: 4 } });
    expect(messages(ledger, 'root:users:ann', h100(3))).toEqual([
      'the limit of root:users:ann is 2 GPUs; 0 GPUs are in use, and 3 GPUs were asked for',
    ]);
    expect(messages(ledger, 'root:users:bob', h100(3))).toEqual([]);
  });

  it('does not count an allocation twice that is checked again', () => {
    const ledger = new QuotaLedger();
    ledger.setWorkspace({ path: 'root:acme', isHome: false, limits: { gpus: 8, models: { H100: 4 } } });
    ledger.setUse('any', 'root:acme', { model: undefined, gpus: 6, gpuMemory: 0 });
    expect(messages(ledger, 'root:acme', { model: 'A100', gpus: 6, gpuMemory: 0 }, 'any')).toEqual([]);
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
        const ledger = new QuotaLedger();
        const uses = new Map<number, { path: string; gpus: number }>();
        for (const path of ['root', ...paths]) ledger.setWorkspace({ path, isHome: false, limits: { gpus: 0 } });
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
