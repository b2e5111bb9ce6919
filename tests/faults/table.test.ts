import { describe, expect, test } from 'vitest';
import { type Cell, steps } from './cell.ts';
import { clusterPart, isWrong, page, slurmPart, textOf, withPart } from './table.ts';

const cell = (more: Partial<Cell> = {}): Cell => ({
  step: steps[0]!,
  fault: 'network cut',
  outcome: 'completed',
  reasons: [],
  begun: 1,
  attempts: 1,
  faults: [],
  ...more,
});

describe('the table', () => {
  test('has a row for each step and a column for each fault', () => {
    const text = page([cell(), cell({ fault: 'disk full', reasons: ['DiskFull'] }), cell({ step: steps[2]! })]);
    expect(text).toContain(
      '| Step | network cut | disk full |\n| --- | --- | --- |\n| deploy: prepare | completed | completed (DiskFull) |',
    );
    expect(text).toContain('| change: update | completed |  |');
  });

  test('says how often a step began, and what is wrong', () => {
    expect(textOf(cell({ begun: 2, attempts: 2, reasons: ['DeadlineExceeded'] }))).toBe('completed (DeadlineExceeded, 2 runs)');
    expect(textOf(cell({ begun: 2, faults: ['the step began 2 times in 1 attempts'] }))).toContain('**WRONG: the step began');
  });

  test.each([
    [cell(), false],
    [cell({ outcome: 'completed by retry' }), false],
    [cell({ outcome: 'needs intervention' }), false],
    [cell({ outcome: 'stuck' }), true],
    [cell({ faults: ['something'] }), true],
  ])('knows what is broken', (one, wrong) => {
    expect(isWrong(one)).toBe(wrong);
  });

  test('has new operations in their order, and leaves them empty where they were not run', () => {
    const at = (operation: Cell['step']['operation'], fault: string): Cell => cell({ step: { operation, name: 'x' }, fault });
    const before = `${page([cell()])}\n${clusterPart('k3s', [at('deploy', 'one'), at('decommission', 'one')])}`;
    const after = withPart(before, clusterPart('k3s', [at('deploy', 'two'), at('repair', 'two'), at('decommission', 'two')]));
    expect(after).toContain(
      '| deploy: x | completed | completed |\n| repair: x |  | completed |\n| decommission: x | completed | completed |',
    );
  });

  test('keeps the operations of a column that were not run', () => {
    const at = (operation: Cell['step']['operation'], reasons: string[]): Cell => cell({ step: { operation, name: 'x' }, reasons });
    const before = withPart(page([]), slurmPart([at('deploy', ['DiskFull']), at('repair', ['DiskFull'])]));
    expect(withPart(before, slurmPart([at('repair', []), at('add', [])]))).toContain(
      '| deploy: x | completed (DiskFull) |\n| repair: x | completed |\n| add: x | completed |',
    );
  });

  test('keeps the part of the page that was not run', () => {
    const [ledger, cluster] = [page([cell()]), clusterPart('k3s', [cell({ step: { operation: 'deploy', name: 'wait' } })])];
    const whole = withPart(ledger, cluster);
    expect(whole).toContain('| deploy: prepare | completed |');
    expect(whole).toContain('| deploy: wait | completed |');
    expect(withPart(whole, ledger)).toBe(whole);
    expect(withPart(whole, cluster)).toBe(whole);
    const slurm = slurmPart([cell({ step: { operation: 'deploy', name: 'install' } })]);
    const all = withPart(withPart(ledger, slurm), cluster);
    expect(all).toBe(withPart(whole, slurm));
    expect(all.match(/^## .+$/gm)).toEqual(['## Self-managed Kubernetes: k3s', '## Slurm']);
    expect(withPart(all, ledger)).toBe(all);
  });

  test('keeps the columns of faults that were not run, and replaces the others', () => {
    const step = { operation: 'deploy', name: 'wait' } as const;
    const before = [cell({ step }), cell({ step, fault: 'disk full', outcome: 'stuck' }), cell({ step: { ...step, name: 'old' } })];
    const again = [cell({ step, fault: 'disk full', reasons: ['DiskFull'] }), cell({ step, fault: 'clock jumps' })];
    const whole = withPart(withPart(page([]), clusterPart('rke2', before)), clusterPart('rke2', again));
    expect(whole.slice(whole.indexOf('## '))).toContain(`| Step | network cut | disk full | clock jumps |
| --- | --- | --- | --- |
| deploy: wait | completed | completed (DiskFull) | completed |
| deploy: old | completed |  |  |
`);
  });
});
