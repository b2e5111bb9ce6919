import { type ArchiveEntry, ArchiveError, blockSize, paddingOf } from './entry.ts';
import { decodeHeader, type RawHeader } from './header.ts';

/** Names and pax headers longer than this are not those of files. */
const longestName = 1 << 20;

export interface ReadEntry extends ArchiveEntry {
  /** The bytes of a file, to be read whole or not at all. */
  readonly content: AsyncGenerator<Buffer, void, undefined>;
}

/** The entries of a tar archive, which may come from anywhere: every path is relative and stays inside. Devices, pipes and hard links are left out. */
export async function* readArchive(
  source: AsyncIterable<Buffer>,
  { onSkipped }: { readonly onSkipped?: (path: string, why: string) => void } = {},
): AsyncGenerator<ReadEntry, void, undefined> {
  const bytes = new ByteReader(source);
  let [name, link] = ['', ''];
  let isFinished = false;
  for (;;) {
    const block = await bytes.take(blockSize);
    if (block === undefined) {
      if (!isFinished) throw new ArchiveError('the archive is incomplete');
      return;
    }
    const header = decodeHeader(block);
    if (header === undefined) {
      isFinished = true;
      continue;
    }
    if (header.type === 'L') name = await longText(bytes, header);
    else if (header.type === 'K') link = await longText(bytes, header);
    else if (header.type === 'x' || header.type === 'g') {
      const records = paxRecords(await longBytes(bytes, header));
      if (header.type === 'x') [name, link] = [records.get('path') ?? name, records.get('linkpath') ?? link];
    } else {
      const named = { name: name || header.name, link: link || header.link };
      const found = entryOf(header, named);
      [name, link] = ['', ''];
      const content = bytes.content(header.size);
      if (typeof found === 'string') onSkipped?.(named.name, found);
      else if (found !== undefined) yield { ...found, content };
      for await (const _ of content) {
        // Whatever the reader has left.
      }
      await bytes.take(paddingOf(header.size));
    }
  }
}

function entryOf(
  { type, mode, modified, size }: RawHeader,
  { name, link }: { name: string; link: string },
): ArchiveEntry | string | undefined {
  const path = safePath(name);
  if (path === undefined) return 'its name leads out of the folder';
  if (path === '') return undefined;
  const common = { path, mode, modified };
  switch (type) {
    case '0':
    case '\0':
    case '7':
      return name.endsWith('/') ? { ...common, type: 'folder', size: 0 } : { ...common, type: 'file', size };
    case '5':
      return { ...common, type: 'folder', size: 0 };
    case '2':
      return { ...common, type: 'link', size: 0, target: link };
    default:
      return 'only files, folders and symbolic links are copied';
  }
}

/** Without empty parts and `.`; undefined if it is absolute or contains `..`. Empty for the folder itself. */
export function safePath(name: string): string | undefined {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  return name.startsWith('/') || name.includes('\0') || parts.includes('..') ? undefined : parts.join('/');
}

async function longBytes(bytes: ByteReader, { size }: RawHeader): Promise<Buffer> {
  if (size > longestName) throw new ArchiveError('the archive is damaged: a name is too long');
  const content = (await bytes.take(size)) ?? Buffer.alloc(0);
  await bytes.take(paddingOf(size));
  return content;
}

async function longText(bytes: ByteReader, header: RawHeader): Promise<string> {
  return (await longBytes(bytes, header)).toString('latin1').replace(/\0.*$/s, '');
}

/** `length key=value\n`, where the length counts everything. */
function paxRecords(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(32, at);
    const length = Number(bytes.toString('latin1', at, space));
    if (space < 0 || !(length > 0) || at + length > bytes.length)
      throw new ArchiveError('the archive is damaged: a pax header is malformed');
    const [, key = '', value = ''] = /^([^=]*)=(.*)\n$/s.exec(bytes.toString('latin1', space + 1, at + length)) ?? [];
    records.set(key, value);
    at += length;
  }
  return records;
}

/** Takes exact numbers of bytes from a stream of chunks. */
class ByteReader {
  readonly #source: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Undefined at the end; throws if the stream ends within. */
  async take(count: number): Promise<Buffer | undefined> {
    const parts = [this.#held];
    let length = this.#held.length;
    while (length < count) {
      const { done, value } = await this.#source.next();
      if (done === true) {
        if (length === 0) return undefined;
        throw new ArchiveError('the archive is incomplete');
      }
      parts.push(value);
      length += value.length;
    }
    const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    this.#held = all.subarray(count);
    return all.subarray(0, count);
  }

  async *content(size: number): AsyncGenerator<Buffer, void, undefined> {
    for (let left = size; left > 0; ) {
      if (this.#held.length === 0) {
        const { done, value } = await this.#source.next();
        if (done === true) throw new ArchiveError('the archive is incomplete');
        this.#held = value;
        continue;
      }
      const part = this.#held.subarray(0, left);
      this.#held = this.#held.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }
}
