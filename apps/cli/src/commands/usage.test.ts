import type { UsageReport } from '@capstan/api';
import { expect, test } from 'vitest';
import { linesOf } from './usage.ts';

const amounts = { gpuSeconds: 7200, coreSeconds: 1800, memoryGibSeconds: 0, storageGibSeconds: 5400, allocations: 2 };
const report: UsageReport = {
  from: '2026-03-01T00:00:00.000Z',
  to: '2026-03-02T00:00:00.000Z',
  groupBy: 'offering',
  items: [
    { key: '', ...amounts },
    { key: '=large,"8"', ...amounts },
  ],
  total: { ...amounts, allocations: 4 },
};

test('prints a table for people', () => {
  expect(linesOf(report, 'table').map((line) => line.replaceAll(/ {2,}/g, ' | '))).toEqual([
    'From 2026-03-01T00:00:00.000Z to 2026-03-02T00:00:00.000Z',
    '',
    'OFFERING | GPU HOURS | CORE HOURS | MEMORY GIB HOURS | STORAGE GIB HOURS | ALLOCATIONS',
    '<none> | 2.00 | 0.50 | 0.00 | 1.50 | 2',
    '=large,"8" | 2.00 | 0.50 | 0.00 | 1.50 | 2',
    'total | 2.00 | 0.50 | 0.00 | 1.50 | 4',
  ]);
});

test('prints values that no spreadsheet takes for a formula', () => {
  expect(linesOf(report, 'csv')).toEqual([
    'offering,gpu_seconds,core_seconds,memory_gib_seconds,allocations,storage_gib_seconds',
    ',7200,1800,0,2,5400',
    `"'=large,""8""",7200,1800,0,2,5400`,
  ]);
});

test('prints JSON for programs', () => expect(JSON.parse(linesOf(report, 'json').join(''))).toEqual(report));
