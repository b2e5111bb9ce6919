import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { allImports, type Import } from './imports.ts';

/** The order of the packages. Each may import those before it, never those after it. */
const order = [
  'machinery',
  'cel',
  'api',
  'streams',
  'ssh',
  'pki',
  'kinds',
  'store',
  'apiserver',
  'client',
  'serving',
  'controller',
  'controllers',
  'platform',
  'queue',
  'fleet',
  'compute',
  'apps',
  'serverless',
  'node-agent',
  'runtime-api',
  'console',
  'gateway',
  'hosting',
];

/**
 * The order of the folders of large packages and apps. Each may import those before it; folders that are not listed may neither import others nor be
 * imported.
 */
const folders: Readonly<Record<string, readonly string[]>> = {
  'apps/console': ['components', 'modules', 'pages'],
  'packages/apiserver': [
    'http',
    'request',
    'cache',
    'bindings',
    'authn',
    'authz',
    'limits',
    'audit',
    'usage',
    'registry',
    'watch',
    'journal',
    'upkeep',
    'admission',
    'crds',
    'discovery',
    'openapi',
    'connect',
    'handlers',
    'reviews',
    'bootstrap',
    'workspaces',
    'presence',
    'node-agents',
    'app-access',
    'agent-archives',
    'artifacts',
    'tunnels',
    'node-usage',
    'log-store',
    'metrics',
    'pipeline',
    'server',
    'testing',
  ],
};

/** Packages of pure functions, and the Node modules they may use: no files, no network, no processes. */
const pure = new Set(['machinery', 'cel', 'api', 'kinds']);
/** `node:net` only for its check of addresses. */
const pureBuiltins = new Set(['node:crypto', 'node:buffer', 'node:util', 'node:net']);
/** Loads the generated tables beside it, once. */
const tableLoader = 'packages/machinery/src/schema/table.ts';

interface Manifest {
  readonly exports?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Imports that break the rules, as `file:line: …`. */
export function checkLayers(root: string, imports: readonly Import[] = allImports(root)): string[] {
  const manifests = new Map<string, Manifest>();
  const manifestOf = (folder: string): Manifest => {
    const known = manifests.get(folder);
    if (known !== undefined) return known;
    const read = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest;
    manifests.set(folder, read);
    return read;
  };
  return imports.flatMap((one) => {
    const fault = faultOf(one, manifestOf);
    return fault === undefined ? [] : [`${one.file}:${one.line}: ${fault}`];
  });
}

function faultOf({ file, target }: Import, manifestOf: (folder: string) => Manifest): string | undefined {
  const home = homeOf(file);
  const name = home.slice(home.indexOf('/') + 1);
  const isTest =
    /\.(test|long)\.ts$/.test(file) || file.includes('/src/suite') || home === 'tests' || home.startsWith('tests/') || name === 'testbed';
  if (isBuiltin(target)) {
    const allowed =
      !home.startsWith('packages/') ||
      !pure.has(name) ||
      isTest ||
      file.includes('/scripts/') ||
      pureBuiltins.has(target) ||
      file === tableLoader;
    return allowed ? undefined : `${name} does no input or output, so it must not import ${target}`;
  }
  if (target.startsWith('.')) {
    const reached = normalize(join(dirname(file), target));
    if (homeOf(reached) !== home) return `reaches into ${homeOf(reached)}; import it by its name`;
    return isTest || isForTests(file) ? undefined : folderFault(home, file, reached);
  }
  const [scope, second] = target.split('/');
  const dependency = target.startsWith('@') ? `${scope}/${second}` : scope!;
  const manifest = manifestOf(home === 'tests' || home === 'scripts' ? '.' : home);
  const declared = {
    ...manifest.dependencies,
    ...(isTest || home === 'scripts' || file.includes('/scripts/')
      ? { ...manifest.devDependencies, ...manifestOf('.').devDependencies }
      : {}),
  };
  const runsAll = (home === 'tests' || home === 'scripts') && scope === '@capstan';
  if (!runsAll && !Object.hasOwn(declared, dependency)) return `${dependency} is not in ${home}/package.json`;
  return scope === '@capstan'
    ? layerFault({ home, isTest }, second!, { target, exports: manifestOf(folderOf(second!)).exports ?? {} })
    : undefined;
}

/** Fixtures and harnesses beside the tests. */
function isForTests(file: string): boolean {
  return /\/testing(\.ts|\/)/.test(file);
}

function folderFault(home: string, file: string, reached: string): string | undefined {
  const known = folders[home];
  const [from, to] = [file, reached].map((path) => /^(?:packages|apps)\/[^/]+\/src\/([^/]+)\//.exec(path)?.[1]);
  if (known === undefined || from === undefined || to === undefined || from === to) return undefined;
  return known.indexOf(to) < known.indexOf(from) && known.includes(to)
    ? undefined
    : `${from}/ comes before ${to}/ in the order of folders and must not import it`;
}

function layerFault(
  from: { home: string; isTest: boolean },
  to: string,
  reached: { target: string; exports: Readonly<Record<string, string>> },
): string | undefined {
  const entry = `.${reached.target.slice(`@capstan/${to}`.length)}`;
  if (!Object.hasOwn(reached.exports, entry)) return `${reached.target} is not exported by @capstan/${to}`;
  if (to === 'testbed') return from.isTest ? undefined : 'the testbed is for tests only';
  if (to === 'cli' || to === 'console-pages') return `apps must not be imported`;
  if (!from.home.startsWith('packages/')) return undefined;
  const name = from.home.slice('packages/'.length);
  if (name === 'testbed') return 'the testbed runs Capstan as a program and must not import other packages';
  return order.indexOf(to) < order.indexOf(name) ? undefined : `${name} comes before ${to} in the order of packages and must not import it`;
}

/** `packages/store` for `packages/store/src/sqlite/open.ts`; `tests` for files directly in it; `scripts` for all of its files. */
function homeOf(file: string): string {
  const parts = file.split('/');
  if (parts[0] === 'scripts') return 'scripts';
  if (parts[0] === 'tests' && (parts.length === 2 || parts[1] === 'checks')) return 'tests';
  return parts.slice(0, 2).join('/');
}

function folderOf(name: string): string {
  if (name === 'cli') return 'apps/cli';
  if (name === 'console-pages') return 'apps/console';
  return ['e2e', 'load', 'robustness'].includes(name) ? `tests/${name}` : `packages/${name}`;
}
