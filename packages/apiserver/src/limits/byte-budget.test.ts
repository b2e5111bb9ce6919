import { describe, expect, it } from 'vitest';
import { ByteBudget, HeldBytes } from './byte-budget.ts';
import type { Line } from './line.ts';

const line = (tenant: string): Line => ({ level: 'people', tenant, workspace: tenant, user: tenant });

describe('bytes in memory', () => {
  it('are limited for a tenant and in total', () => {
    const budget = new ByteBudget({ overall: 100, perTenant: 40 });
    expect([budget.take(line('/a'), 30), budget.take(line('/a'), 20), budget.take(line('/b'), 30)]).toEqual([true, false, true]);
    expect([budget.take(line('/c'), 39), budget.take(line('/d'), 2), budget.total]).toEqual([true, false, 99]);
  });

  it('may be more than the share of a tenant for a single thing', () => {
    const budget = new ByteBudget({ overall: 100, perTenant: 40 });
    expect([budget.take(line('/a'), 60), budget.take(line('/a'), 1)]).toEqual([true, false]);
  });

  it('are given back with the request that held them, once', () => {
    const budget = new ByteBudget({ overall: 100, perTenant: 40 });
    const held = new HeldBytes(budget, line('/a'));
    held.take(10);
    held.take(20);
    held.give(5);
    held.giveAll();
    held.giveAll();
    expect(budget.total).toBe(0);
    expect(budget.take(line('/a'), 40)).toBe(true);
  });
});
