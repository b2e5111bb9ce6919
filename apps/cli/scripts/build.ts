/** Bundles the command into `dist`: a start then reads a handful of files of JavaScript instead of hundreds of TypeScript. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '../../..');
const output = join(import.meta.dirname, '../dist');

rmSync(output, { recursive: true, force: true });
const bundle = await rolldown({
  input: {
    main: join(root, 'apps/cli/src/main.ts'),
    // Found beside the module that starts it.
    worker: join(root, 'packages/store/src/sqlite/worker.ts'),
  },
  platform: 'node',
  external: [/^node:/],
  logLevel: 'warn',
});
await bundle.write({ dir: join(output, 'lib'), format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
await bundle.close();
// Read at run time, from beside the folder of the code that reads them.
for (const generated of ['packages/machinery/src/generated', 'packages/apiserver/src/workspaces/generated'])
  cpSync(join(root, generated), join(output, 'generated'), { recursive: true });
