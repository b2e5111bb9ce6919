import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../command.ts';
import { cacheDirectory, home } from '../tools/cache.ts';
import { withLock } from '../tools/lock.ts';
import { findVersion, versionFits } from '../tools/version.ts';
import { fetchToolchain } from './fetch.ts';
import { pinned } from './pinned.ts';

export type Go = { readonly path: string; readonly environment: Readonly<Record<string, string>> } | { readonly missing: string };

let asked: Promise<Go> | undefined;

/**
 * A Go that can build the test programs: the one on PATH if it is new enough, else our own in the cache, fetched once from the module
 * proxies that Go itself uses.
 */
export function go(): Promise<Go> {
  asked ??= find();
  return asked;
}

async function find(): Promise<Go> {
  // Go keeps its downloads and build cache below HOME, and does not work without it.
  const places = { HOME: home() };
  const said = await run('go', ['version'], { environment: { ...places, GOTOOLCHAIN: 'local' } });
  const version = findVersion(said.stdout.replace(/\bgo(?=\d)/, ''));
  if (versionFits(version, { atLeast: pinned.atLeast })) return { path: 'go', environment: places };
  const reason =
    said.code === 0 ? `the Go on PATH is ${version ?? 'of unknown version'}, but at least ${pinned.atLeast} is required` : 'no Go on PATH';
  try {
    // A set GOROOT would refer to another Go.
    return { path: await ownToolchain(), environment: { ...places, GOROOT: '' } };
  } catch (error) {
    return {
      missing: `${reason}, and Go ${pinned.version} could not be fetched: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

async function ownToolchain(): Promise<string> {
  const directory = join(cacheDirectory(), `go-${pinned.version}`);
  const program = join(directory, 'bin', 'go');
  if (existsSync(program)) return program;
  return withLock(`${directory}.guard`, async () => {
    if (existsSync(program)) return program;
    const temporary = `${directory}.${process.pid}`;
    process.stderr.write(`fetching Go ${pinned.version} (once; kept in ${directory})\n`);
    try {
      await fetchToolchain(temporary);
      renameSync(temporary, directory);
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
    return program;
  });
}
