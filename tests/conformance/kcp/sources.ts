import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { output } from '@capstan/testbed';
import { packagesIn } from './packages.ts';

const modules = join(import.meta.dirname, 'modules');
/** The versions whose tests can be run. */
export const kcpVersions: readonly string[] = readdirSync(modules).sort();
const kcp = 'github.com/kcp-dev/kcp';
const sdk = 'github.com/kcp-dev/sdk';
const building = { CGO_ENABLED: '0', GOFLAGS: '-mod=mod -buildvcs=false' };

/** The sources of kcp's tests, and the programs built from them. */
export interface Sources {
  /** The names of all packages that have tests. */
  readonly packages: readonly string[];
  /** Where the files of a package are, which its tests read. */
  directoryOf(name: string): string;
  /** The test program of a package. Built once. */
  program(name: string): Promise<string>;
  readonly tokens: string;
  /** Where tests look for kcp's programs. */
  readonly programs: string;
}

/**
 * kcp's tests expect to run inside its repository, with its SDK in it. So both modules are copied into that layout, with the dependencies
 * pinned in `modules/`: kcp's own go.mod refers to folders that exist only in its repository.
 */
export async function kcpSources(version: string): Promise<Sources> {
  if (!kcpVersions.includes(version)) throw new Error(`kcp ${version}: expected one of ${kcpVersions.join(', ')}`);
  const pinned = join(modules, version);
  const pins = ['go.mod', 'go.sum'].map((name) => readFileSync(join(pinned, name), 'utf8'));
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const root = join(cache, 'capstan', `kcp-e2e-${createHash('sha256').update(pins.join('')).digest('hex').slice(0, 12)}`);
  if (!existsSync(root)) await layOut(root, pinned);
  return {
    packages: packagesIn(join(root, 'test/e2e')),
    directoryOf: (name) => join(root, 'test/e2e', name),
    program: (name) => build(root, name),
    tokens: join(root, 'test/e2e/framework/auth-tokens.csv'),
    programs: join(root, 'bin'),
  };
}

async function layOut(root: string, pinned: string): Promise<void> {
  const temporary = `${root}.${process.pid}`;
  const copy = async (module: string, to: string): Promise<void> => {
    await output('go', ['mod', 'download', module], { directory: pinned, timeout: 10 * 60_000 });
    const directory = await output('go', ['list', '-m', '-f', '{{.Dir}}', module], { directory: pinned });
    mkdirSync(dirname(to), { recursive: true });
    await output('cp', ['-R', directory.trim(), to]);
    // The module cache is read-only, and so is its copy.
    await output('chmod', ['-R', 'u+w', to]);
  };
  await copy(kcp, temporary);
  await copy(sdk, join(temporary, 'staging/src', sdk));
  writeFileSync(join(temporary, 'go.mod'), asKcp(readFileSync(join(pinned, 'go.mod'), 'utf8')));
  copyFileSync(join(pinned, 'go.sum'), join(temporary, 'go.sum'));
  // The tests recognize the top of the repository by this.
  mkdirSync(join(temporary, '.git'));
  renameSync(temporary, root);
}

function asKcp(goMod: string): string {
  const own = goMod
    .split('\n')
    .map((line) => (line.startsWith('module ') ? `module ${kcp}` : line))
    .filter((line) => !line.trim().startsWith(`${kcp} `));
  return `${own.join('\n')}\nreplace ${sdk} => ./staging/src/${sdk}\n`;
}

async function build(root: string, name: string): Promise<string> {
  const program = join(root, 'bin', `${name.replaceAll('/', '-')}.test`);
  if (existsSync(program)) return program;
  process.stderr.write(`building the tests of ${name} (once; kept in ${root})\n`);
  const temporary = `${program}.${process.pid}`;
  const args = ['test', '-c', '-vet=off', '-ldflags', '-s -w', '-o', temporary, `./test/e2e/${name}`];
  await output('go', args, { directory: root, environment: building, timeout: 30 * 60_000 });
  renameSync(temporary, program);
  return program;
}
