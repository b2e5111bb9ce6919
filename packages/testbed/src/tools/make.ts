import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { output, run } from '../command.ts';
import { temporaryDirectory } from '../temporary.ts';
import { go } from '../toolchain/go.ts';
import { cacheDirectory } from './cache.ts';
import { modulesDirectory, type ToolDescription } from './catalogue.ts';
import { downloadRepository } from './debian-repository.ts';
import { unpackDebianTree } from './debian-tree.ts';
import { findVersion, versionFits } from './version.ts';

export interface Making {
  /** Stops building programs. Programs not built by then are missing. */
  readonly signal?: AbortSignal;
}

export function cachedPath(tool: ToolDescription): string {
  return join(cacheDirectory(), `${tool.name}-${tool.version}`);
}

const outOfTime = 'there was no time left to build it';

/** Puts the program into the cache from Debian's packages. Returns the reason on failure, undefined on success. */
export async function fromDebian(tool: ToolDescription): Promise<string | undefined> {
  const { debian, debianTree, debianRepository, onPath } = tool;
  if (debianTree !== undefined) return unpackDebianTree(debianTree, cachedPath(tool), onPath?.versionArgs);
  if (debianRepository !== undefined) return downloadRepository(debianRepository, cachedPath(tool));
  if (debian === undefined) return 'Debian has no package for it';
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return 'Debian packages need root on Debian';
  if (onPath !== undefined) {
    const policy = await run('apt-cache', ['policy', debian.package]);
    const candidate = findVersion(/Candidate:\s*(\S+)/.exec(policy.stdout)?.[1] ?? '');
    if (!versionFits(candidate, onPath))
      return `Debian's ${debian.package} is ${candidate ?? 'missing'}, but at least ${onPath.atLeast} is required`;
  }
  using directory = temporaryDirectory('debian');
  // Unpacked, not installed: an installed package would start a service and outlive the tests.
  await output('apt-get', ['download', debian.package], { directory: directory.path });
  await output('sh', ['-c', 'dpkg-deb -x *.deb .'], { directory: directory.path });
  place(directory.join(debian.file), cachedPath(tool));
  return undefined;
}

/** Builds the program from its pinned Go module into the cache. Returns the reason on failure, undefined on success. */
export async function fromSource(tool: ToolDescription, { signal }: Making): Promise<string | undefined> {
  if (tool.go === undefined) return 'it is never built from source';
  if (signal?.aborted) return outOfTime;
  const compiler = await go();
  if ('missing' in compiler) return compiler.missing;
  const target = cachedPath(tool);
  const temporary = `${target}.${process.pid}`;
  const { module, package: path, linkerFlags, test, minutes = 30 } = tool.go;
  const verb = test ? ['test', '-c', '-vet=off'] : ['build'];
  // In a directory of our own: a killed Go leaves its files behind, and the next run removes them here.
  const work = `${target}.work`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const started = Date.now();
  process.stderr.write(`building ${tool.name} ${tool.version} (once; kept in ${dirname(target)})\n`);
  // Without VCS information: asking git for it fails if another user owns the checkout.
  // At low priority, so that the machine stays usable.
  const built = await run(
    'nice',
    ['-n', '10', compiler.path, ...verb, '-trimpath', '-buildvcs=false', '-ldflags', linkerFlags, '-o', temporary, path],
    {
      directory: join(modulesDirectory, module),
      environment: { ...compiler.environment, GOTMPDIR: work, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' },
      timeout: minutes * 60_000,
      ...(signal && { signal }),
    },
  );
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  if (signal?.aborted) return outOfTime;
  if (built.code !== 0) return `go build failed: ${built.stderr.trim().split('\n').slice(-3).join(' ')}`;
  renameSync(temporary, target);
  process.stderr.write(`built ${tool.name} in ${Math.round((Date.now() - started) / 1000)} s\n`);
  return undefined;
}

function place(from: string, target: string): void {
  const temporary = `${target}.${process.pid}`;
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(from, temporary);
  chmodSync(temporary, 0o755);
  renameSync(temporary, target);
}
