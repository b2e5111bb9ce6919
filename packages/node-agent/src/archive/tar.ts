/** One entry of an archive. `tar` adds its parent directories. */
export type Entry = { readonly path: string; readonly mode?: number; readonly owner?: number } & (
  | { readonly type: 'file'; readonly content: Buffer }
  | { readonly type: 'directory' }
  | { readonly type: 'link'; readonly target: string }
);

const block = 512;
const flags = { file: '0', link: '2', directory: '5' } as const;
const modes = { file: 0o644, link: 0o777, directory: 0o755 } as const;

/** An archive in the ustar format. Entries are sorted and have no time, so that the same contents produce the same bytes. */
export function tar(entries: readonly Entry[]): Buffer {
  return Buffer.concat([...tarParts(entries)]);
}

/** The same archive in pieces, without a copy of the contents. */
export function* tarParts(entries: readonly Entry[]): Generator<Buffer> {
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries)
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end);
      if (!byPath.has(parent)) byPath.set(parent, { path: parent, type: 'directory' });
    }
  // A directory sorts before its content, because its path is shorter.
  const sorted = [...byPath.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
  for (const entry of sorted) {
    const content = entry.type === 'file' ? entry.content : Buffer.alloc(0);
    yield header(entry, content.length);
    yield content;
    yield Buffer.alloc((block - (content.length % block)) % block);
  }
  yield Buffer.alloc(2 * block);
}

function header(entry: Entry, size: number): Buffer {
  const { name, prefix } = split(entry.type === 'directory' ? `${entry.path}/` : entry.path);
  const header = Buffer.alloc(block);
  const octal = (value: number, offset: number, length: number): void => {
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'latin1');
  };
  header.write(name, 0);
  octal(entry.mode ?? modes[entry.type], 100, 8);
  octal(entry.owner ?? 0, 108, 8);
  octal(entry.owner ?? 0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  header.write(flags[entry.type], 156);
  if (entry.type === 'link') header.write(entry.target, 157, 100);
  header.write('ustar\0' + '00', 257, 'latin1');
  header.write(prefix, 345);
  // The checksum counts its own field as spaces.
  header.fill(' ', 148, 156);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
    'latin1',
  );
  return header;
}

/** The format has 100 bytes for a name, and 155 for its directories. */
function split(path: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  for (let at = path.indexOf('/'); at > 0 && at < path.length - 1; at = path.indexOf('/', at + 1)) {
    const parts = { prefix: path.slice(0, at), name: path.slice(at + 1) };
    if (Buffer.byteLength(parts.name) <= 100 && Buffer.byteLength(parts.prefix) <= 155) return parts;
  }
  throw new RangeError(`expected a path that fits into a tar header (100 bytes of name, 155 of directories), found ${path}`);
}
