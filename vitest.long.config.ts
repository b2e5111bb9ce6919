import { defineConfig } from 'vitest/config';

// `npm run long`: tests with real programs that take minutes, and build the programs that they need.
export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.long.ts', 'tests/{e2e,robustness}/**/*.long.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
