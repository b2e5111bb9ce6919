import { accessSync, constants, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, relative, sep } from 'node:path';
import type { ArchiveEntry } from '../../archive/entry.ts';
import { staysInside } from '../../archive/extract.ts';
import { Failure } from '../../failure.ts';
import { formatBytes, shownPath } from '../words.ts';
import { IgnoreRules } from './ignore-rules.ts';

export interface ListingLimits {
  /** Bytes of all files. */
  readonly total: number;
  /** Larger files are left out. */
  readonly file: number;
  readonly count: number;
}

export const defaultLimits: ListingLimits = { total: 512 * 2 ** 20, file: 256 * 2 ** 20, count: 100_000 };

/** The files of a folder that are uploaded. Paths are strings of bytes. */
export interface Listing {
  readonly folder: string;
  /** Sorted: the same files are always listed in the same order. */
  readonly entries: readonly ArchiveEntry[];
  readonly files: number;
  readonly bytes: number;
  /** Files that were left out, and why. */
  readonly leftOut: readonly { readonly path: string; readonly why: string }[];
}

const bytesOf = (path: string): Buffer => Buffer.from(path, 'latin1');

/** The files of a folder that Git would not ignore. Throws a Failure if they are too many. */
export function listFiles(directory: string, limits: ListingLimits = defaultLimits): Listing {
  const walk = new Walk(Buffer.from(directory).toString('latin1'), limits);
  const above = rulesAbove(directory);
  walk.visit([], above.rules, above.path);
  if (walk.bytes > limits.total || walk.files > limits.count) throw walk.tooMuch(limits);
  return walk;
}

/** The rules of the Git repository that the folder is in, and the path of the folder there. */
function rulesAbove(directory: string): { readonly rules: IgnoreRules; readonly path: readonly string[] } {
  const folders = [directory];
  while (!existsSync(`${folders.at(-1)!}/.git`)) {
    const parent = dirname(folders.at(-1)!);
    if (parent === folders.at(-1)) return { rules: IgnoreRules.none(), path: [] };
    folders.push(parent);
  }
  const root = folders.at(-1)!;
  const pathOf = (folder: string): string[] => {
    const path = Buffer.from(relative(root, folder)).toString('latin1');
    return path === '' ? [] : path.split(sep);
  };
  let rules = IgnoreRules.none().with([], textOf(`${root}/.git/info/exclude`));
  for (const folder of folders.slice(1).toReversed()) rules = rules.with(pathOf(folder), textOf(`${folder}/.gitignore`));
  return { rules, path: pathOf(directory) };
}

function textOf(file: string | Buffer): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

class Walk implements Listing {
  readonly folder: string;
  readonly entries: ArchiveEntry[] = [];
  readonly leftOut: { path: string; why: string }[] = [];
  files = 0;
  bytes = 0;
  readonly #limits: ListingLimits;
  /** The size of each folder at the top. */
  readonly #sizes = new Map<string, { bytes: number; files: number }>();

  constructor(folder: string, limits: ListingLimits) {
    this.folder = folder;
    this.#limits = limits;
  }

  visit(path: readonly string[], above: IgnoreRules, base: readonly string[]): void {
    const here = [this.folder, ...path].join('/');
    const names = namesIn(here);
    if (isServerData(names)) return void this.leftOut.push({ path: path.join('/'), why: 'it has the keys of a Capstan server' });
    const rules = names.includes('.gitignore') ? above.with([...base, ...path], textOf(bytesOf(`${here}/.gitignore`))) : above;
    for (const name of names.sort((one, other) => (one < other ? -1 : 1))) {
      if (name === '.git') continue;
      const found = lstatSync(bytesOf(`${here}/${name}`), { throwIfNoEntry: false });
      if (found === undefined || rules.ignores([...base, ...path, name], found.isDirectory())) continue;
      this.#add([...path, name], found);
      // Nobody wants to wait until a whole disk is counted.
      if (this.files > 2 * this.#limits.count) throw this.tooMuch(this.#limits);
      if (found.isDirectory()) this.visit([...path, name], rules, base);
    }
  }

  #add(parts: readonly string[], found: Stats): void {
    const path = parts.join('/');
    const common = { path, mode: found.mode & 0o777, modified: Math.floor(found.mtimeMs / 1000), size: 0 };
    if (found.isDirectory()) this.entries.push({ ...common, type: 'folder' });
    else if (found.isSymbolicLink()) {
      const target = readlinkSync(bytesOf(`${this.folder}/${path}`), { encoding: 'buffer' }).toString('latin1');
      // Nodes refuse such links: they would lead into their own files.
      if (staysInside(path, target)) this.entries.push({ ...common, type: 'link', target });
      else this.leftOut.push({ path, why: `it is a link that leads out of the folder, to ${shownPath(target)}` });
    } else if (!found.isFile()) this.leftOut.push({ path, why: 'it is neither a file nor a folder nor a link' });
    else if (found.size > this.#limits.file) {
      const why = `it has ${formatBytes(found.size)}, and files of more than ${formatBytes(this.#limits.file)} are left out`;
      this.leftOut.push({ path, why });
    } else this.#addFile(parts, { ...common, type: 'file', size: found.size });
  }

  #addFile(parts: readonly string[], entry: ArchiveEntry): void {
    try {
      accessSync(bytesOf(`${this.folder}/${entry.path}`), constants.R_OK);
    } catch (error) {
      const shown = shownPath(entry.path);
      throw new Failure('usage', `${shown} cannot be read. Add it to .gitignore, or upload nothing with --no-upload.`, error);
    }
    this.entries.push(entry);
    this.files++;
    this.bytes += entry.size;
    const top = parts.length === 1 ? '.' : parts[0]!;
    const sizes = this.#sizes.get(top) ?? { bytes: 0, files: 0 };
    this.#sizes.set(top, { bytes: sizes.bytes + entry.size, files: sizes.files + 1 });
  }

  tooMuch(limits: ListingLimits): Failure {
    const isBytes = this.bytes > limits.total;
    const most = [...this.#sizes]
      .sort(([, one], [, other]) => (isBytes ? other.bytes - one.bytes : other.files - one.files))
      .slice(0, 5)
      .map(
        ([name, { bytes, files }]) =>
          `  ${isBytes ? formatBytes(bytes) : `${files} files`}  ${name === '.' ? '(files at the top)' : `${shownPath(name)}/`}`,
      );
    const found = isBytes
      ? `${formatBytes(this.bytes)}, more than the ${formatBytes(limits.total)} that are uploaded at most`
      : `${this.files} files, more than ${limits.count}`;
    return new Failure(
      'usage',
      `this folder has ${found}. The biggest parts:\n${most.join('\n')}\nAdd some to .gitignore, run from another folder, raise --max-upload, or upload nothing with --no-upload.`,
    );
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(bytesOf(folder), { encoding: 'buffer' }).map((name) => name.toString('latin1'));
  } catch (error) {
    const shown = shownPath(folder);
    throw new Failure('usage', `${shown} cannot be read. Add it to .gitignore, or upload nothing with --no-upload.`, error);
  }
}

/** `capstan up` keeps the keys of all users in such a folder, by default in the working directory. */
function isServerData(names: readonly string[]): boolean {
  return names.includes('pki') && names.includes('admin.kubeconfig');
}
