import { existsSync, realpathSync, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { ArchiveError } from '../../archive/entry.ts';
import { extractArchive } from '../../archive/extract.ts';
import { Place } from '../../archive/place.ts';
import { safePath } from '../../archive/read.ts';
import { Failure } from '../../failure.ts';
import { RemoteCommand, sendInput } from '../streams/command.ts';
import { printable, shownPath } from '../words.ts';
import { bytesOf, type Copying, Counter, checkCopied } from './copying.ts';
import { persist } from './persist.ts';
import { Collected, checksumOf, checksumThere, type RemoteEntry, treeThere } from './remote.ts';

/** Out of a unit. A copy that was cut goes on with the files and bytes that are missing here. */
export async function download(copying: Copying, from: string, to: string): Promise<void> {
  const path = from.replace(/(.)\/+$/, '$1');
  const name = bytesOf(basename(path));
  if (name === '' || name === '..') throw new Failure('usage', `expected the path of a file or folder, found ${JSON.stringify(from)}.`);
  const isInto = statSync(to, { throwIfNoEntry: false })?.isDirectory() === true;
  const folder = isInto ? to : dirname(resolve(to));
  if (!existsSync(folder)) throw new Failure('usage', `the folder ${printable(folder)} does not exist.`);
  const newName = isInto ? (name === '.' ? '' : name) : bytesOf(basename(resolve(to)));
  const counter = new Counter(copying.progress);
  const receiving: Receiving = {
    copying,
    counter,
    from: { folder: dirname(path), name: basename(path) },
    folder: bytesOf(realpathSync(folder)),
    pathOf: (inside) => renamed(inside, name, newName),
  };
  await persist(
    async (isAgain) => {
      counter.restart();
      const left = isAgain || copying.isContinued ? await missingHere(receiving) : undefined;
      if (left === undefined || left.length > 0) await receiveArchive(receiving, left);
    },
    { progress: copying.progress, moved: () => counter.best, ...(copying.patience !== undefined && { patience: copying.patience }) },
  );
}

/** The path with another first name; undefined for paths that nobody asked for. */
export function renamed(path: string, name: string, newName: string): string | undefined {
  if (name === '.') return newName === '' ? path : `${newName}/${path}`;
  if (path !== name && !path.startsWith(`${name}/`)) return undefined;
  return newName + path.slice(name.length);
}

interface Receiving {
  readonly copying: Copying;
  readonly counter: Counter;
  readonly from: { readonly folder: string; readonly name: string };
  /** Here, as a string of bytes. */
  readonly folder: string;
  /** The path below the folder. */
  readonly pathOf: (inside: string) => string | undefined;
}

/** Receives everything, or some paths without what is below them. */
async function receiveArchive({ copying, counter, from, folder, pathOf }: Receiving, paths?: readonly string[]): Promise<void> {
  const { pod, progress } = copying;
  const errors = new Collected();
  const archive = new PassThrough({ highWaterMark: 1 << 20 });
  const what = paths === undefined ? [`./${from.name}`] : ['--no-recursion', '-T', '-'];
  const command = await RemoteCommand.begin(
    pod,
    { command: ['tar', '-c', '-f', '-', '-C', from.folder, ...what], stdin: paths !== undefined, stdout: true, stderr: true, tty: false },
    { stdout: archive, stderr: errors },
  );
  const ended = command.result.finally(() => archive.end());
  ended.catch(() => {});
  if (paths !== undefined) await sendInput(command, names(paths));
  const extracted = extractArchive(archive, {
    folder,
    pathOf,
    onBytes: (count) => counter.add(count),
    onSkipped: (skipped, why) => progress.say(`Not copied: ${shownPath(skipped)}: ${printable(why)}.`),
  });
  const [result, files] = await Promise.allSettled([ended, extracted]);
  if (result.status === 'rejected') throw result.reason;
  // The reason why an archive is incomplete is in the words of the program that wrote it.
  if (result.value.code !== 0 && (files.status === 'fulfilled' || files.reason instanceof ArchiveError))
    checkCopied(result.value, errors.text);
  if (files.status === 'rejected')
    throw files.reason instanceof ArchiveError ? new Failure('unexpected', files.reason.message, files.reason) : files.reason;
}

async function* names(paths: readonly string[]): AsyncGenerator<Buffer> {
  yield Buffer.from(paths.map((path) => `./${path}\n`).join(''), 'latin1');
}

/** The paths in the unit that are not here; undefined if the unit cannot tell what it has. */
async function missingHere(receiving: Receiving): Promise<string[] | undefined> {
  const { copying, counter, from, folder, pathOf } = receiving;
  const entries = await treeThere(copying.pod, from.folder, from.name);
  if (entries === undefined) return undefined;
  counter.total = entries.reduce((sum, { isFile, size }) => sum + (isFile ? size : 0), 0);
  const place = new Place(folder);
  const left: string[] = [];
  for (const entry of entries) {
    const path = pathOf(safePath(entry.path) ?? '');
    if (path === undefined) continue;
    const isHere = entry.isFile && (await completeHere(receiving, place, { ...entry, here: path }));
    if (!isHere) left.push(entry.path);
  }
  return left;
}

/** Receives the end of a file, if its start here is that of the file there. Whether all of it is here. */
async function completeHere(
  { copying: { pod }, counter, from }: Receiving,
  place: Place,
  entry: RemoteEntry & { readonly here: string },
): Promise<boolean> {
  const found = await place.file(entry.here);
  if (found === undefined || found.size > entry.size) return false;
  const isWhole = found.size === entry.size && Math.floor(found.mtimeMs / 1000) === entry.modified;
  if (isWhole) counter.add(entry.size);
  if (isWhole || found.size === 0) return isWhole;
  const there = `${bytesOf(from.folder)}/${entry.path}`;
  await using file = await place.open(entry.here);
  if ((await checksumThere(pod, there, found.size)) !== (await checksumOf(contentOf(file, found.size)))) return false;
  counter.add(found.size);
  const writing = new FileEnd(file, found.size, counter);
  const script = 'IFS= read -r path && exec tail -c "+$1" -- "$path"';
  const query = { command: ['sh', '-c', script, 'sh', String(found.size + 1)], stdin: true, stdout: true, stderr: true, tty: false };
  const command = await RemoteCommand.begin(pod, query, { stdout: writing, stderr: new Collected() });
  await sendInput(command, pathLine(there));
  const { code } = await command.result;
  await new Promise<void>((done, failed) => writing.end((error?: Error | null) => (error ? failed(error) : done())));
  const isSame = code === 0 && (await checksumThere(pod, there, entry.size + 1)) === (await checksumOf(contentOf(file, entry.size + 1)));
  if (isSame) {
    await file.chmod(entry.mode);
    await file.utimes(entry.modified, entry.modified);
  } else counter.add(-entry.size);
  return isSame;
}

async function* pathLine(path: string): AsyncGenerator<Buffer> {
  yield Buffer.from(`${path}\n`, 'latin1');
}

async function* contentOf(file: FileHandle, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < length; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(256 << 10, length - at)), 0, undefined, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Writes at the end of a file. */
class FileEnd extends Writable {
  readonly #file: FileHandle;
  readonly #counter: Counter;
  #at: number;

  constructor(file: FileHandle, at: number, counter: Counter) {
    super({ highWaterMark: 1 << 20 });
    this.#file = file;
    this.#at = at;
    this.#counter = counter;
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#file.write(chunk, 0, chunk.length, this.#at).then(({ bytesWritten }) => {
      this.#at += bytesWritten;
      this.#counter.add(bytesWritten);
      done(bytesWritten === chunk.length ? undefined : new Error('the disk is full'));
    }, done);
  }
}
