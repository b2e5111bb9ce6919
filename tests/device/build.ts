/** Makes `dist`: the archive of the agent, and the suites as programs that need only the Node of the archive. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const here = import.meta.dirname;
const root = join(here, '../..');
const dist = join(here, 'dist');
const tests = join(root, 'packages/node-agent/src');

rmSync(dist, { recursive: true, force: true });
const bundle = await rolldown({
  input: {
    drivers: join(here, 'drivers.ts'),
    'systemd.test': join(tests, 'processes/systemd.test.ts'),
    'supervisor.test': join(tests, 'processes/supervisor.test.ts'),
    'services.test': join(tests, 'services/services.test.ts'),
  },
  platform: 'node',
  external: [/^node:/],
  // The rest of the testbed looks for tools when it is loaded.
  resolve: {
    alias: {
      vitest: join(here, 'runner.ts'),
      '@capstan/testbed/vitest': join(here, 'runner.ts'),
      '@capstan/testbed': join(root, 'packages/testbed/src/systemd-machine.ts'),
    },
  },
  logLevel: 'warn',
});
await bundle.write({ dir: dist, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
await bundle.close();
execFileSync(process.execPath, [join(root, 'apps/cli/dist/lib/main.js'), 'node', 'archive', '--data-dir', join(dist, 'data')], {
  stdio: 'inherit',
});
