import { createReadStream, existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import type { ArchiveEntry } from '../../archive/entry.ts';
import { treeOf } from '../../archive/tree.ts';
import { writeArchive } from '../../archive/write.ts';
import { Failure } from '../../failure.ts';
import { RemoteCommand, sendInput } from '../streams/command.ts';
import { printable } from '../words.ts';
import { bytesOf, type Copying, Counter, checkCopied } from './copying.ts';
import { persist } from './persist.ts';
import { ask, Collected, checksumOf, checksumThere, filesThere } from './remote.ts';

/** From here into a unit. A copy that was cut goes on with the files and bytes that are missing there. */
export async function upload(copying: Copying, from: string, to: string): Promise<void> {
  const { pod, progress } = copying;
  const here = resolve(from);
  if (!existsSync(here)) throw new Failure('usage', `${printable(from)} does not exist.`);
  const [folder, name] = [bytesOf(dirname(here)), bytesOf(basename(here))];
  const isInto = to.endsWith('/') || to === '.' || (await ask(pod, ['test', '-d', to])).code === 0;
  const [parent, newName] = isInto ? [to, name] : [dirname(to), bytesOf(basename(to))];
  const entries = treeOf(folder, name);
  const rename = (path: string): string => newName + path.slice(name.length);
  const counter = new Counter(
    progress,
    entries.reduce((sum, { size }) => sum + size, 0),
  );
  const sending: Sending = { copying, folder, counter, rename, thereOf: (path) => `${bytesOf(parent)}/${rename(path)}` };
  await persist(
    async (isAgain) => {
      counter.restart();
      const left = isAgain || copying.isContinued ? await missingThere(sending, entries) : entries;
      if (left.length > 0) await sendArchive(sending, parent, left);
    },
    { progress, moved: () => counter.best, ...(copying.patience !== undefined && { patience: copying.patience }) },
  );
}

interface Sending {
  readonly copying: Copying;
  /** Here, as a string of bytes. */
  readonly folder: string;
  readonly counter: Counter;
  /** The path in the target. */
  readonly rename: (path: string) => string;
  /** The path in the unit. */
  readonly thereOf: (path: string) => string;
}

async function sendArchive(
  { copying: { pod }, folder, counter, rename }: Sending,
  parent: string,
  entries: readonly ArchiveEntry[],
): Promise<void> {
  const errors = new Collected();
  const archive = writeArchive({ folder, entries, rename, onBytes: (count) => counter.add(count) });
  const command = await RemoteCommand.begin(
    pod,
    { command: ['tar', '-x', '-o', '-f', '-', '-C', parent], stdin: true, stdout: true, stderr: true, tty: false },
    { stdout: errors, stderr: errors },
  );
  await sendInput(command, Readable.from(archive, { objectMode: false }));
  checkCopied(await command.result, errors.text);
}

/**
 * The entries that the unit does not have. Files that are there have the size and the time of those here, because tar sets the time at the end. The missing
 * part of others is added to the part that is there.
 */
async function missingThere(sending: Sending, entries: readonly ArchiveEntry[]): Promise<ArchiveEntry[]> {
  const { copying, counter, thereOf } = sending;
  const files = entries.filter(({ type, path }) => type === 'file' && !path.includes('\n'));
  const found = await filesThere(
    copying.pod,
    files.map(({ path }) => thereOf(path)),
  );
  if (found === undefined) return [...entries];
  const here = new Set<ArchiveEntry>();
  for (const [index, entry] of files.entries()) {
    const there = found[index];
    if (there === undefined || there.size > entry.size) continue;
    const isWhole = there.size === entry.size && there.modified === entry.modified;
    if (isWhole) counter.add(entry.size);
    if (isWhole || (there.size > 0 && (await completeThere(sending, entry, there.size)))) here.add(entry);
  }
  return entries.filter((entry) => !here.has(entry));
}

/** Sends the end of a file, if its start there is that of the file here. Whether all of it is there. */
async function completeThere(
  { copying: { pod }, folder, counter, thereOf }: Sending,
  entry: ArchiveEntry,
  length: number,
): Promise<boolean> {
  const there = thereOf(entry.path);
  const bytes = (start: number, end: number): AsyncIterable<Buffer> => readFrom(`${folder}/${entry.path}`, start, end);
  if ((await checksumThere(pod, there, length)) !== (await checksumOf(bytes(0, length)))) return false;
  counter.add(length);
  const script = 'IFS= read -r path && cat >> "$path" && chmod "$1" -- "$path" && touch -d "@$2" -- "$path"';
  const words = ['sh', '-c', script, 'sh', entry.mode.toString(8), String(entry.modified)];
  const { code } = await ask(pod, words, rest(there, counted(bytes(length, entry.size), counter)));
  // The command that was cut may have written until a moment ago.
  if (code === 0 && (await checksumThere(pod, there, entry.size + 1)) === (await checksumOf(bytes(0, entry.size)))) return true;
  counter.add(-entry.size);
  return false;
}

async function* rest(path: string, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield Buffer.from(`${path}\n`, 'latin1');
  yield* content;
}

async function* counted(content: AsyncIterable<Buffer>, counter: Counter): AsyncGenerator<Buffer> {
  for await (const part of content) {
    counter.add(part.length);
    yield part;
  }
}

async function* readFrom(path: string, start: number, end: number): AsyncGenerator<Buffer> {
  if (end <= start) return;
  yield* createReadStream(Buffer.from(path, 'latin1'), { start, end: end - 1, highWaterMark: 256 << 10 }) as AsyncIterable<Buffer>;
}
