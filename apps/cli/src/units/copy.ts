import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { ArchiveError } from '../archive/entry.ts';
import { extractArchive } from '../archive/extract.ts';
import { treeOf } from '../archive/tree.ts';
import { writeArchive } from '../archive/write.ts';
import { Failure } from '../failure.ts';
import { Progress } from './progress.ts';
import { requireRunning } from './shell.ts';
import { type CommandResult, RemoteCommand, sendInput } from './streams/command.ts';
import type { UnitPod } from './streams/pod.ts';
import { findUnit, openUnits, type UnitFlags } from './units.ts';
import { formatBytes, printable, shownPath } from './words.ts';

/** A path here, or in a unit. */
export type Place = { readonly unit: string; readonly path: string } | { readonly unit?: undefined; readonly path: string };

/** `unit:path`, or a path here. A path here with a colon begins with `./` or `/`. */
export function placeOf(text: string): Place {
  const [, unit, path = ''] = /^([a-z0-9][-a-z0-9.]*):(.*)$/s.exec(text) ?? [];
  return unit === undefined ? { path: text } : { unit, path: path === '' ? '.' : path };
}

/** Copies a file or folder into a unit, or out of one, as `cp -r` does. */
export async function copy(from: string, to: string, flags: UnitFlags): Promise<void> {
  const [source, target] = [placeOf(from), placeOf(to)];
  if ((source.unit === undefined) === (target.unit === undefined))
    throw new Failure(
      'usage',
      'expected one path here and one in a unit, such as: capstan cp results.csv training:/data, or: capstan cp training:/data/out .',
    );
  using units = openUnits(flags);
  const name = (source.unit ?? target.unit)!;
  requireRunning(await findUnit(units, name), name);
  const progress = new Progress();
  const copying = { pod: { units, name }, progress };
  try {
    if (target.unit === undefined) await download(copying, source.path, target.path);
    else await upload(copying, source.path, target.path);
  } finally {
    progress.clear();
  }
}

export interface Copying {
  readonly pod: UnitPod;
  readonly progress: Progress;
}

/** From here into a unit. */
export async function upload({ pod, progress }: Copying, from: string, to: string): Promise<void> {
  const here = resolve(from);
  if (!existsSync(here)) throw new Failure('usage', `${printable(from)} does not exist.`);
  const [folder, name] = [bytesOf(dirname(here)), bytesOf(basename(here))];
  const isInto = to.endsWith('/') || to === '.' || (await run(pod, ['test', '-d', to])).code === 0;
  const [parent, newName] = isInto ? [to, name] : [dirname(to), bytesOf(basename(to))];
  const entries = treeOf(folder, name);
  const total = entries.reduce((sum, { size }) => sum + size, 0);
  const count = counter(progress, total);
  const archive = writeArchive({ folder, entries, rename: (path) => newName + path.slice(name.length), onBytes: count });
  const errors = new Collected();
  const command = await RemoteCommand.begin(
    pod,
    { command: ['tar', '-x', '-o', '-f', '-', '-C', parent], stdin: true, stdout: true, stderr: true, tty: false },
    { stdout: errors, stderr: errors },
  );
  await sendInput(command, Readable.from(archive, { objectMode: false }));
  check(await command.result, errors.text);
}

/** Out of a unit. */
export async function download({ pod, progress }: Copying, from: string, to: string): Promise<void> {
  const path = from.replace(/(.)\/+$/, '$1');
  const name = bytesOf(basename(path));
  if (name === '' || name === '..') throw new Failure('usage', `expected the path of a file or folder, found ${JSON.stringify(from)}.`);
  const isInto = statSync(to, { throwIfNoEntry: false })?.isDirectory() === true;
  const folder = isInto ? to : dirname(resolve(to));
  if (!existsSync(folder)) throw new Failure('usage', `the folder ${printable(folder)} does not exist.`);
  const newName = isInto ? (name === '.' ? '' : name) : bytesOf(basename(resolve(to)));
  const errors = new Collected();
  const archive = new PassThrough({ highWaterMark: 1 << 20 });
  const command = await RemoteCommand.begin(
    pod,
    { command: ['tar', '-c', '-f', '-', '-C', dirname(path), `./${basename(path)}`], stdin: false, stdout: true, stderr: true, tty: false },
    { stdout: archive, stderr: errors },
  );
  const ended = command.result.finally(() => archive.end());
  ended.catch(() => {});
  const extracted = extractArchive(archive, {
    folder: bytesOf(realpathSync(folder)),
    pathOf: (inside) => renamed(inside, name, newName),
    onBytes: counter(progress, undefined),
    onSkipped: (skipped, why) => progress.say(`Not copied: ${shownPath(skipped)}: ${printable(why)}.`),
  });
  const [result, files] = await Promise.allSettled([ended, extracted]);
  if (result.status === 'rejected') throw result.reason;
  // The reason why an archive is incomplete is in the words of the program that wrote it.
  if (result.value.code !== 0 && (files.status === 'fulfilled' || files.reason instanceof ArchiveError)) check(result.value, errors.text);
  if (files.status === 'rejected')
    throw files.reason instanceof ArchiveError ? new Failure('unexpected', files.reason.message, files.reason) : files.reason;
}

/** The path with another first name; undefined for paths that nobody asked for. */
export function renamed(path: string, name: string, newName: string): string | undefined {
  if (name === '.') return newName === '' ? path : `${newName}/${path}`;
  if (path !== name && !path.startsWith(`${name}/`)) return undefined;
  return newName + path.slice(name.length);
}

const bytesOf = (path: string): string => Buffer.from(path).toString('latin1');

function counter(progress: Progress, total: number | undefined): (count: number) => void {
  let sum = 0;
  return (count) => {
    sum += count;
    progress.show(`Copying ${formatBytes(sum)}${total === undefined ? '' : ` of ${formatBytes(total)}`}`, { isFleeting: true });
  };
}

async function run(pod: UnitPod, command: readonly string[]): Promise<CommandResult> {
  const output = new Collected();
  const remote = await RemoteCommand.begin(
    pod,
    { command, stdin: false, stdout: true, stderr: true, tty: false },
    { stdout: output, stderr: output },
  );
  return remote.result;
}

function check({ code, message }: CommandResult, complaint: string): void {
  if (code === 0 && message === undefined) return;
  const why = printable(complaint.trim().replaceAll('\n', '; ')) || message || `tar ended with ${code}`;
  const hint =
    code === 126 || code === 127 || /not found|no such file.*tar/i.test(message ?? '') ? ' Copying needs the program tar in the unit.' : '';
  throw new Failure('unexpected', `it could not be copied: ${why}.${hint}`);
}

/** Keeps the end of what is written. */
class Collected extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text = (this.text + chunk.toString()).slice(-4000);
    done();
  }
}
