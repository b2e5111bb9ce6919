import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Entry, type SnapshotInfo, type Store, StoreError } from './contract.ts';
import { prefixRange } from './keys.ts';

/*
 * A copy of a store that any driver can read: lines of JSON.
 *
 *   {"format":"capstan-store","version":1,"revision":42}
 *   {"key":"/a","value":"…","revision":7,"createRevision":7}      one line for each key, in order
 *   {"keys":1,"sha256":"…"}                                       of all lines before; missing if the file was truncated
 *
 * It contains the state at one revision and no history. An import creates the keys anew, so they get new revisions, and forgets how it came about: watches from
 * before it expire.
 */

const format = 'capstan-store';
const version = 1;
const entriesPerPage = 500;
const writesAtOnce = 256;

interface Header {
  readonly format: string;
  readonly version: number;
  readonly revision: number;
}

interface Trailer {
  readonly keys: number;
  readonly sha256: string;
}

/** Exports a store at one revision to `file`, which either becomes complete or is not created at all. */
export async function exportStore(store: Store, file: string): Promise<SnapshotInfo> {
  const partial = `${file}.partial`;
  const hash = createHash('sha256');
  const output = await open(partial, 'w', 0o600);
  try {
    const write = async (lines: readonly unknown[]): Promise<void> => {
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      hash.update(text);
      await output.write(text);
    };
    const { end, start: first } = prefixRange('');
    let page = await store.list({ start: first, end }, { limit: entriesPerPage });
    const { revision } = page;
    await write([{ format, version, revision } satisfies Header]);
    let keys = 0;
    for (;;) {
      await write(page.entries);
      keys += page.entries.length;
      if (page.remaining === 0) break;
      page = await store.list({ start: `${page.entries.at(-1)!.key}\0`, end }, { limit: entriesPerPage, revision });
    }
    await write([{ keys, sha256: hash.copy().digest('hex') } satisfies Trailer]);
    await output.sync();
    await output.close();
    await rename(partial, file);
    await syncDirectory(path.dirname(file));
    return { revision, keys, bytes: (await stat(file)).size };
  } finally {
    await output.close().catch(() => {});
    await rm(partial, { force: true });
  }
}

/** Creates the keys of an export in an empty store. The whole file is checked before anything is written. */
export async function importStore(store: Store, file: string): Promise<{ keys: number }> {
  const present = await store.list(prefixRange(''), { limit: 1 });
  if (present.entries.length > 0) {
    throw new StoreError('exists', `the store is not empty (it contains ${present.entries[0]!.key}): an import needs an empty one`);
  }
  await checkExport(file);
  let writes: Promise<number>[] = [];
  let keys = 0;
  for await (const entry of readEntries(file)) {
    writes.push(store.create(entry.key, entry.value));
    keys++;
    if (writes.length === writesAtOnce) {
      await Promise.all(writes);
      writes = [];
    }
  }
  await Promise.all(writes);
  await store.compact(await store.currentRevision());
  return { keys };
}

/** Reads a whole export, and throws if it is damaged. `revision` is the one that it shows. */
export async function checkExport(file: string): Promise<{ keys: number; revision: number }> {
  let keys = 0;
  let revision = 0;
  for await (const _ of readEntries(file, (header) => (revision = header.revision))) keys++;
  return { keys, revision };
}

async function* readEntries(file: string, onHeader: (header: Header) => void = () => {}): AsyncGenerator<Entry> {
  const hash = createHash('sha256');
  let keys = -1;
  let trailer: Trailer | undefined;
  for await (const line of readLines(file)) {
    const value = parse(line, file);
    if (keys === -1) {
      checkHeader(value, file);
      onHeader(value as Header);
    } else if ('sha256' in value) {
      trailer = value as Trailer;
      break;
    } else yield value as Entry;
    keys++;
    hash.update(`${line}\n`);
  }
  if (trailer === undefined) throw damaged(file, 'it has no last line, so it was truncated');
  if (trailer.keys !== keys) throw damaged(file, `it claims to contain ${trailer.keys} keys, but has ${keys}`);
  if (trailer.sha256 !== hash.digest('hex')) throw damaged(file, 'its checksum does not match');
}

/** Lines end only at a line feed: readline would also end them at U+2028, which JSON text may contain. */
async function* readLines(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== '') yield rest;
}

function parse(line: string, file: string): object {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Reported below.
  }
  throw damaged(file, `a line is not a JSON object: ${line.slice(0, 60)}`);
}

function checkHeader(value: object, file: string): void {
  const header = value as Partial<Header>;
  if (header.format !== format) throw damaged(file, 'it does not begin like a store export');
  if (header.version !== version) throw damaged(file, `it has version ${header.version}, but this version of Capstan reads ${version}`);
}

function damaged(file: string, reason: string): StoreError {
  return new StoreError('damaged', `the snapshot ${file} is damaged: ${reason}. Nothing was imported; use another copy`);
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
