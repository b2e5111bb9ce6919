import { defineConfig } from 'vitest/config';

// The unit tests run side by side; of those that start real programs, three files at a time, because they wait more than they work.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'packages/*/scripts/**/*.test.ts',
            'scripts/**/*.test.ts',
            'apps/*/src/**/*.test.ts',
            'tests/{load,checks,conformance}/**/*.test.ts',
            'tests/faults/table.test.ts',
          ],
          pool: 'forks',
          // Files share what they import: loading it anew for each took half of the time. So whatever a file changes for all, it changes back.
          isolate: false,
          // Many files wait for processes and timers, so more of them than processors fit side by side.
          maxWorkers: 4,
          testTimeout: 30_000,
          hookTimeout: 60_000,
          // A second, the default, is short on a machine that does other work too.
          expect: { poll: { timeout: 10_000 } },
        },
      },
      {
        test: {
          name: 'integration',
          // Projects with different numbers of workers run one after the other.
          sequence: { groupOrder: 1 },
          include: ['tests/e2e/**/*.test.ts', 'tests/robustness/**/*.test.ts', 'tests/faults/apps.test.ts'],
          pool: 'forks',
          maxWorkers: 3,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
    ],
  },
});
