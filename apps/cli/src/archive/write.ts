import { open } from 'node:fs/promises';
import { type ArchiveEntry, blockSize, paddingOf } from './entry.ts';
import { encodeHeader } from './header.ts';

const chunkSize = 256 << 10;
/** Small files and headers are joined to parts of this size. */
const partSize = 64 << 10;

export interface WriteOptions {
  /** The folder of the files, as a string of bytes. */
  readonly folder: string;
  readonly entries: Iterable<ArchiveEntry>;
  /** The path in the archive, if it is not that on the disk. */
  readonly rename?: ((path: string) => string) | undefined;
  /** Called with the bytes of files as they are read. */
  readonly onBytes?: ((count: number) => void) | undefined;
  /** Called with the path of a file that became shorter while it was read: the rest is filled with zeros. */
  readonly onShort?: ((path: string) => void) | undefined;
}

/** A tar archive of files on the disk. The same files give the same bytes. */
export async function* writeArchive({
  folder,
  entries,
  rename = (path) => path,
  onBytes,
  onShort,
}: WriteOptions): AsyncGenerator<Buffer, void, undefined> {
  let held: Buffer[] = [];
  let length = 0;
  const hold = (bytes: Buffer): Buffer | undefined => {
    held.push(bytes);
    length += bytes.length;
    if (length < partSize) return undefined;
    const part = Buffer.concat(held);
    held = [];
    length = 0;
    return part;
  };
  for (const entry of entries) {
    let part = hold(encodeHeader({ ...entry, path: rename(entry.path) }));
    if (part) yield part;
    if (entry.type !== 'file' || entry.size === 0) continue;
    for await (const chunk of contentOf(folder, entry, onShort)) {
      onBytes?.(chunk.length);
      part = hold(chunk);
      if (part) yield part;
    }
    part = hold(Buffer.alloc(paddingOf(entry.size)));
    if (part) yield part;
  }
  yield Buffer.concat([...held, Buffer.alloc(2 * blockSize)]);
}

/** Exactly as many bytes as the header says, even if the file changes meanwhile. */
async function* contentOf(
  folder: string,
  { path, size }: ArchiveEntry,
  onShort: ((path: string) => void) | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  await using file = await open(Buffer.from(`${folder}/${path}`, 'latin1'));
  for (let left = size; left > 0; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(left, chunkSize)));
    if (bytesRead === 0) {
      onShort?.(path);
      for (; left > 0; left -= Math.min(left, chunkSize)) yield Buffer.alloc(Math.min(left, chunkSize));
      return;
    }
    left -= bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
