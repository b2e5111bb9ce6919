/* oxlint-disable no-control-regex -- Control characters are what is looked for. */

export type FileKind = 'folder' | 'file' | 'link' | 'other';

export interface FileEntry {
  /** Undefined if it is not UTF-8, so that no page can name it. */
  readonly name: string | undefined;
  /** Its name for people: nothing in it changes how the rest is shown. */
  readonly shown: string;
  /** Undefined if the unit has no program that knows. */
  readonly kind: FileKind | undefined;
  readonly size: number | undefined;
  /** In milliseconds since 1970. */
  readonly changedAt: number | undefined;
}

export interface Listing {
  /** The folder without links in its path. */
  readonly folder: string;
  readonly entries: readonly FileEntry[];
}

export const mostEntries = 20_000;

/**
 * Prints the path of a folder, then for each group of names their number, their facts line by line, an empty line, and the names. Names and paths end with a zero byte, the one
 * byte that they cannot have. Only parts of POSIX are used, and stat if there is one.
 */
export const listScript = `cd -P -- "\${1:-.}" || exit
printf '%s\\0' "$PWD"
show() {
[ -e "$1" ] || [ -L "$1" ] || return 0
[ $# -le ${mostEntries} ] || { echo "the folder has more than ${mostEntries} files" >&2; exit 1; }
echo $#
stat -c '%f %s %Y' -- "$@" 2> /dev/null
echo
printf '%s\\0' "$@"
}
show ./*
show ./.[!.]*
show ./..?*
true`;

const zero = 0;
const newline = 10;

/** Reads the output of the script. */
export function parseListing(output: Uint8Array): Listing {
  let at = 0;
  const until = (end: number): Uint8Array => {
    const found = output.indexOf(end, at);
    if (found < 0) throw new Error('the list of files is incomplete');
    const part = output.subarray(at, found);
    at = found + 1;
    return part;
  };
  const line = (): string => new TextDecoder().decode(until(newline));
  const folder = new TextDecoder().decode(until(zero));
  const entries: FileEntry[] = [];
  while (at < output.length) {
    const count = Number(line());
    if (!Number.isInteger(count) || count < 0 || count > mostEntries) throw new Error('the list of files has an unknown form');
    const facts: string[] = [];
    for (let one = line(); one !== ''; one = line()) facts.push(one);
    for (let index = 0; index < count; index++) {
      // A file that vanished meanwhile has no facts, and nobody knows which one that was.
      entries.push(entryOf(until(zero).subarray('./'.length), facts.length === count ? facts[index]! : ''));
    }
  }
  return { folder, entries };
}

function entryOf(name: Uint8Array, facts: string): FileEntry {
  const [mode = '', size = '', changed = ''] = facts.split(' ');
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(name);
  return {
    name: new TextEncoder().encode(text).length === name.length && !text.includes('\ufffd') ? text : undefined,
    shown: shownName(text),
    kind: mode === '' ? undefined : kindOf(Number.parseInt(mode, 16)),
    size: size === '' ? undefined : Number(size),
    changedAt: changed === '' ? undefined : Number(changed) * 1000,
  };
}

/** The type in the upper bits of a mode. */
function kindOf(mode: number): FileKind {
  switch (mode & 0o170000) {
    case 0o040000:
      return 'folder';
    case 0o100000:
      return 'file';
    case 0o120000:
      return 'link';
    default:
      return 'other';
  }
}

/** Control characters, and those that turn the direction of text or cannot be seen. */
const deceptive = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export const shownName = (name: string): string =>
  name.replace(deceptive, (one) => named[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The path of something in a folder. */
export const pathIn = (folder: string, name: string): string => `${folder === '/' ? '' : folder}/${name}`;

/** The folder that an address names, which counts from the root; undefined if it names none. */
export const folderAt = (root: string, named: string | undefined): string | undefined =>
  named?.startsWith('/') ? (root === '/' ? named : named === '/' ? root : root + named) : undefined;

/** The same the other way round. Folders outside the root, to which links may lead, have no address. */
export function addressOf(root: string, folder: string): string | undefined {
  if (root === '/') return folder;
  if (folder === root) return '/';
  return folder.startsWith(`${root}/`) ? folder.slice(root.length) : undefined;
}

/** The folders above a path below a root, the outermost first, and itself. */
export function pathParts(folder: string, root: string): readonly { readonly path: string; readonly shown: string }[] {
  const inside = addressOf(root, folder);
  const base = inside === undefined ? '/' : root;
  const names = (inside ?? folder).split('/').filter((name) => name !== '');
  return [
    { path: base, shown: '/' },
    ...names.map((name, index) => ({ path: pathIn(base, names.slice(0, index + 1).join('/')), shown: shownName(name) })),
  ];
}
