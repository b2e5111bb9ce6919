import { chmodSync, existsSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { output, run } from '../command.ts';

const triplets: Readonly<Record<string, string>> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };

/**
 * The library folders of unpacked packages, in the format of LD_LIBRARY_PATH. Some packages keep libraries in a folder of their own and name it by its path in `/usr`, which is
 * not where they were unpacked.
 */
export function libraryPath(tree: string): string {
  const folders = ['usr/lib', 'lib'].map((folder) => join(tree, folder, triplets[process.arch] ?? ''));
  const own = folders.flatMap((folder) => globSync(join(folder, '*/lib*.so*')).map((library) => dirname(library)));
  return [...new Set([...folders, ...own.sort()])].join(':');
}

/** A program that consists of several Debian packages. */
export interface DebianTree {
  readonly packages: readonly string[];
  /** Writes additional files that the program needs; returns the shell script that runs it. */
  readonly prepare: (tree: string) => string;
}

/** A program that needs its libraries and nothing else of its packages. */
export function debianProgram(name: string, file: string): DebianTree {
  return {
    packages: [name],
    prepare: (tree) => `#!/bin/sh\nLD_LIBRARY_PATH='${libraryPath(tree)}' exec '${join(tree, file)}' "$@"\n`,
  };
}

/**
 * Unpacks the packages, and those of their dependencies that this machine lacks, below `target.tree`, and writes a script at `target` that
 * runs the program from there. Nothing is installed. With `trial`, arguments that make it end at once, it must run. Returns the reason on failure, undefined on success.
 */
export async function unpackDebianTree(
  { packages, prepare }: DebianTree,
  target: string,
  trial?: readonly string[],
): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return 'Debian packages need root on Debian';
  const names = await missingPackages(packages);
  if (names.length === 0) return `Debian has no ${packages.join(', ')} for this machine`;
  const tree = `${target}.tree`;
  rmSync(tree, { recursive: true, force: true });
  const archives = join(tree, 'archives');
  mkdirSync(archives, { recursive: true });
  await output('apt-get', ['download', ...names], { directory: archives });
  await output('sh', ['-c', 'for archive in *.deb; do dpkg-deb -x "$archive" ..; done'], { directory: archives });
  rmSync(archives, { recursive: true });
  const script = `${target}.${process.pid}`;
  writeFileSync(script, prepare(tree));
  chmodSync(script, 0o755);
  if (trial !== undefined) {
    const { code, stderr } = await run(script, trial, { timeout: 60_000 });
    if (code !== 0) {
      rmSync(script);
      return `Debian's ${packages.join(', ')} does not run: ${stderr.trim().split('\n').at(-1)}`;
    }
  }
  renameSync(script, target);
  return undefined;
}

/** The packages and dependencies that an installation would add to this machine. */
export async function missingPackages(packages: readonly string[]): Promise<string[]> {
  const planned = await run('apt-get', ['install', '--print-uris', '--yes', '--no-install-recommends', ...packages]);
  return planned.code === 0 ? [...planned.stdout.matchAll(/^'[^']*' ([^_\s]+)_/gm)].map((match) => match[1]!) : [];
}
