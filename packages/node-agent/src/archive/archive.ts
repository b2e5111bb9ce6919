import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { AgentArchive, AgentPlatform } from '@capstan/api';
import { writeAtomically } from '@capstan/pki';
import { launcherScript } from '../upgrade/launcher.ts';
import { fileHash } from './hash.ts';
import { type Entry, tarParts } from './tar.ts';
import { fileEntry, textEntry, treeEntries } from './tree.ts';

export interface ArchiveParts {
  readonly platform: AgentPlatform;
  /** The version of Capstan, without a build. */
  readonly version: string;
  /** Replaces the build in the version of the archive, which is a hash of the contents. */
  readonly build?: string | undefined;
  /** The folder of the bundled command. */
  readonly bundle: string;
  /** Node's program for the platform, and its license. */
  readonly runtime: { readonly program: string; readonly license?: string | undefined };
  readonly license?: string | undefined;
}

/** The content of `<platform>.json` beside the archive. */
export interface BuiltArchive extends AgentArchive {
  readonly file: string;
  /** A hash of the contents: an archive with the same one need not be built again. */
  readonly contents: string;
}

const commandScript = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" "$here/../dist/lib/main.js" "$@"
`;

/** Builds the archive of the node agent into a directory, unless the same one is there. The same contents produce the same bytes. */
export async function buildArchive(directory: string, parts: ArchiveParts): Promise<BuiltArchive> {
  const { platform, runtime } = parts;
  const own = [
    ...treeEntries(parts.bundle, 'dist'),
    { ...textEntry('bin/capstan', commandScript), mode: 0o755 },
    { ...textEntry('bin/launch', launcherScript), mode: 0o755 },
    ...(parts.license === undefined ? [] : [fileEntry(parts.license, 'LICENSE')]),
  ];
  const node = [
    { ...fileEntry(runtime.program, 'bin/node'), mode: 0o755 },
    ...(runtime.license === undefined ? [] : [fileEntry(runtime.license, 'LICENSE.node')]),
  ];
  const contents = hashOf([...own, ...node]);
  // The same for all platforms. The bundle names the version of Node.
  const version = `${parts.version}+${parts.build ?? hashOf(own).slice(0, 12)}`;
  const manifest = join(directory, `${platform}.json`);
  const present = await presentArchive(directory, manifest);
  // A build that somebody named stays until the contents change.
  if (present?.contents === contents && (parts.build === undefined || present.version === version)) return present;
  await mkdir(directory, { recursive: true });
  const packageFile = `${JSON.stringify({ name: 'capstan', version, private: true, type: 'module' }, undefined, 2)}\n`;
  const packed = await pack([...own, ...node, textEntry('package.json', packageFile)], join(directory, `.${platform}.${process.pid}.new`));
  const { sha256, size, unpackedSize, written } = packed;
  const file = `${platform}-${sha256.slice(0, 16)}.tar.gz`;
  await rename(written, join(directory, file));
  const built: BuiltArchive = { platform, version, sha256, size, unpackedSize, file, contents };
  await writeAtomically(manifest, `${JSON.stringify(built, undefined, 2)}\n`, 0o644);
  for (const name of await readdir(directory))
    if (name.startsWith(`${platform}-`) && name.endsWith('.tar.gz') && name !== file) await rm(join(directory, name), { force: true });
  return built;
}

async function presentArchive(directory: string, manifest: string): Promise<BuiltArchive | undefined> {
  try {
    const present = JSON.parse(await readFile(manifest, 'utf8')) as BuiltArchive;
    // A damaged archive would be refused by every machine.
    return (await fileHash(join(directory, present.file))) === present.sha256 ? present : undefined;
  } catch {
    return undefined;
  }
}

/** Entries have no time and no owner, so paths, modes and contents are all. */
function hashOf(entries: readonly Entry[]): string {
  const hash = createHash('sha256');
  for (const entry of [...entries].sort((one, other) => (one.path < other.path ? -1 : 1))) {
    hash.update(`${entry.path}\0${entry.mode ?? ''}\0`);
    if (entry.type === 'file') hash.update(`${entry.content.length}\0`).update(entry.content);
  }
  return hash.digest('hex');
}

async function pack(
  entries: readonly Entry[],
  written: string,
): Promise<{ readonly sha256: string; readonly size: number; readonly unpackedSize: number; readonly written: string }> {
  const hash = createHash('sha256');
  let [size, unpackedSize] = [0, 0];
  const counting = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      hash.update(chunk);
      size += chunk.length;
      next(undefined, chunk);
    },
  });
  const parts = function* (): Generator<Buffer> {
    for (const part of tarParts(entries)) {
      unpackedSize += part.length;
      yield part;
    }
  };
  try {
    await pipeline(Readable.from(parts()), createGzip(), counting, createWriteStream(written));
    await using handle = await open(written);
    await handle.sync();
  } catch (error) {
    await rm(written, { force: true });
    throw error;
  }
  return { sha256: hash.digest('hex'), size, unpackedSize, written };
}
