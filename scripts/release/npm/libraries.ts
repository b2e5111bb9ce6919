import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { manifestOf, root } from '../place.ts';
import { common, pack } from './pack.ts';

interface Library {
  readonly name: string;
  readonly description: string;
  /** Folders below `src` that the code reads at run time. */
  readonly data?: readonly string[];
}

/** In the order of their dependencies. */
const libraries: readonly Library[] = [
  {
    name: 'machinery',
    description: 'Kubernetes objects as pure functions: schemas, patches, apply, selectors, quantities',
    data: ['generated'],
  },
  { name: 'api', description: "Kinds, names and ids of kcp's and Capstan's APIs" },
  { name: 'client', description: 'A client for Kubernetes API servers: kubeconfigs, requests, watches, informers' },
  { name: 'controller', description: 'A runtime for Kubernetes controllers: queues, leader election, events, metrics' },
];

/** Compiles the libraries for authors of controllers, and packs each into a tarball. Returns the paths. */
export function packLibraries(output: string): string[] {
  mkdirSync(join(root, 'dist'), { recursive: true });
  // Below the repository, where the compiler finds Node's types.
  const staging = mkdtempSync(join(root, 'dist/libraries-'));
  try {
    for (const library of libraries) compile(library, staging);
    return libraries.map(({ name, description }) =>
      pack(join(staging, name), libraryManifest(name, description), { readme: `packages/${name}/README.md`, output }),
    );
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function compile({ name, data = [] }: Library, staging: string): void {
  const source = join(root, 'packages', name, 'src');
  const target = join(staging, name, 'lib');
  const configuration = join(staging, `tsconfig.${name}.json`);
  writeFileSync(configuration, JSON.stringify(compilerSettings(name, { source, target, staging })));
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['--project', configuration], { stdio: ['ignore', 'inherit', 'inherit'] });
  for (const folder of data) cpSync(join(source, folder), join(target, folder), { recursive: true });
}

/**
 * Plain JavaScript and declarations for Node 20. The compiler gets the libraries of Node 20, so that code which needs a newer one does not
 * compile.
 */
function compilerSettings(library: string, { source, target, staging }: { source: string; target: string; staging: string }): object {
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      target: 'es2023',
      lib: ['es2023', 'es2024.string'],
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: source,
      outDir: target,
      paths: Object.fromEntries(
        libraries.flatMap(({ name }) =>
          entriesOf(name).map(([entry, file]) => [join(`@capstan/${name}`, entry), [join(staging, name, 'lib', `${file}.d.ts`)]]),
        ),
      ),
    },
    include: [],
    files: entriesOf(library).map(([, file]) => join(source, `${file}.ts`)),
  };
}

/** The entries that a package exports, each with its file below `src`, without the extension. */
function entriesOf(library: string): (readonly [string, string])[] {
  const { exports = {} } = manifestOf(`packages/${library}`);
  return Object.entries(exports)
    .filter(([entry]) => entry !== './testing')
    .map(([entry, file]) => [entry, file.replace(/^\.\/src\//, '').replace(/\.ts$/, '')]);
}

function libraryManifest(folder: string, description: string): object {
  const { name, version, dependencies = {} } = manifestOf(`packages/${folder}`);
  const isOwn = ([dependency]: readonly [string, string]): boolean => dependency.startsWith('@capstan/');
  const all = Object.entries(dependencies);
  return {
    name,
    version,
    description,
    ...common,
    exports: Object.fromEntries(
      entriesOf(folder).map(([entry, file]) => [entry, { types: `./lib/${file}.d.ts`, default: `./lib/${file}.js` }]),
    ),
    files: ['lib'],
    dependencies: Object.fromEntries(all.filter((entry) => !isOwn(entry))),
    // Peers, so that there is one copy of each: `instanceof ApiError` works, and npm takes them from the sibling tarballs, not from a
    // registry.
    peerDependencies: Object.fromEntries(all.filter(isOwn)),
  };
}
