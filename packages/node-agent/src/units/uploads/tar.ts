import { StringDecoder } from 'node:string_decoder';

/** An entry of a tar archive that may be unpacked. */
export type TarEntry =
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly size: number; readonly content: AsyncIterable<Buffer> }
  | { readonly kind: 'directory'; readonly path: string; readonly mode: number }
  | { readonly kind: 'symlink'; readonly path: string; readonly target: string }
  | { readonly kind: 'hardlink'; readonly path: string; readonly target: string };

export class TarError extends Error {
  override readonly name = 'TarError';
}

const blockSize = 512;
/** In bytes, of the headers of pax and GNU, which are kept in memory. */
const longestHeader = 1 << 20;

/** The entries of a tar archive (ustar, pax and GNU). The content of a file has to be read before the next entry, and is skipped otherwise. */
export async function* readTar(bytes: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const reader = new Blocks(bytes);
  let more: { path?: string; linkpath?: string; size?: number } = {};
  for (;;) {
    const block = await reader.take(blockSize);
    if (block === undefined || block.every((byte) => byte === 0)) break;
    checkSum(block);
    const size = more.size ?? numberIn(block, 124, 12);
    const type = String.fromCharCode(block[156]!);
    if (type === 'x' || type === 'g' || type === 'L' || type === 'K') {
      const header = await reader.whole(numberIn(block, 124, 12));
      if (type === 'x') more = { ...more, ...paxFields(header) };
      else if (type === 'L') more = { ...more, path: textIn(header, 0, header.length) };
      else if (type === 'K') more = { ...more, linkpath: textIn(header, 0, header.length) };
      continue;
    }
    const path = more.path ?? nameIn(block);
    const target = more.linkpath ?? textIn(block, 157, 100);
    const mode = numberIn(block, 100, 8);
    more = {};
    if (type === '0' || type === '\0' || type === '7') {
      const content = reader.content(size);
      yield { kind: 'file', path, mode, size, content };
      // Whatever the reader left.
      for await (const _rest of content);
      await reader.skip(padding(size));
    } else if (type === '5') yield { kind: 'directory', path, mode };
    else if (type === '2') yield { kind: 'symlink', path, target };
    else if (type === '1') yield { kind: 'hardlink', path, target };
    else throw new TarError(`${path} is neither a file, a directory nor a link (type ${JSON.stringify(type)})`);
  }
  await reader.rest();
}

const padding = (size: number): number => (blockSize - (size % blockSize)) % blockSize;

class Blocks {
  readonly #iterator: AsyncIterator<Buffer>;
  #buffer: Buffer = Buffer.alloc(0);
  #isOver = false;

  constructor(bytes: AsyncIterable<Buffer>) {
    this.#iterator = bytes[Symbol.asyncIterator]();
  }

  /** So many bytes; undefined at the end of the archive. */
  async take(length: number): Promise<Buffer | undefined> {
    while (this.#buffer.length < length && (await this.#fill()));
    if (this.#buffer.length === 0) return undefined;
    if (this.#buffer.length < length) throw new TarError('the archive ends within an entry');
    return this.#cut(length);
  }

  async whole(size: number): Promise<Buffer> {
    if (size > longestHeader) throw new TarError(`a header has ${size} bytes; at most ${longestHeader} are allowed`);
    const taken = (await this.take(size + padding(size))) ?? Buffer.alloc(0);
    return taken.subarray(0, size);
  }

  /** Continues where it was left when it is read again. */
  content(size: number): AsyncIterable<Buffer> {
    let left = size;
    const next = async (): Promise<IteratorResult<Buffer, undefined>> => {
      if (left === 0) return { done: true, value: undefined };
      if (this.#buffer.length === 0 && !(await this.#fill())) throw new TarError('the archive ends within a file');
      const value = this.#cut(Math.min(left, this.#buffer.length));
      left -= value.length;
      return { done: false, value };
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }

  async skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) {
      if (this.#buffer.length === 0 && !(await this.#fill())) throw new TarError('the archive ends within an entry');
      left -= this.#cut(Math.min(left, this.#buffer.length)).length;
    }
  }

  /** Archives end with zeros, of which the sum of the compressed data is checked too. */
  async rest(): Promise<void> {
    do this.#buffer = Buffer.alloc(0);
    while (await this.#fill());
  }

  #cut(length: number): Buffer {
    const cut = this.#buffer.subarray(0, length);
    this.#buffer = this.#buffer.subarray(length);
    return cut;
  }

  async #fill(): Promise<boolean> {
    if (this.#isOver) return false;
    const { done, value } = await this.#iterator.next();
    if (done === true) {
      this.#isOver = true;
      return false;
    }
    this.#buffer = this.#buffer.length === 0 ? value : Buffer.concat([this.#buffer, value]);
    return true;
  }
}

function checkSum(block: Buffer): void {
  let sum = 0;
  for (let at = 0; at < blockSize; at++) sum += at >= 148 && at < 156 ? 32 : block[at]!;
  if (sum !== Number.parseInt(textIn(block, 148, 8).trim(), 8)) throw new TarError('it is no tar archive, or it is damaged');
}

/** Octal, or the binary form of GNU for large numbers. */
function numberIn(block: Buffer, at: number, length: number): number {
  const field = block.subarray(at, at + length);
  if ((field[0]! & 0x80) !== 0) {
    const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, field[0]! & 0x3f);
    if (!Number.isSafeInteger(value)) throw new TarError('a number of the archive is too large');
    return value;
  }
  const text = textIn(block, at, length).trim();
  if (text === '') return 0;
  if (!/^[0-7]+$/.test(text)) throw new TarError(`expected an octal number, found ${JSON.stringify(text)}`);
  return Number.parseInt(text, 8);
}

function textIn(block: Buffer, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return new StringDecoder('utf8').end(end < 0 ? field : field.subarray(0, end));
}

function nameIn(block: Buffer): string {
  const name = textIn(block, 0, 100);
  const prefix = textIn(block, 257, 6) === 'ustar' ? textIn(block, 345, 155) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** Records of the form `<length> <key>=<value>\n`. */
function paxFields(header: Buffer): { path?: string; linkpath?: string; size?: number } {
  const fields: { path?: string; linkpath?: string; size?: number } = {};
  for (let at = 0; at < header.length; ) {
    const space = header.indexOf(32, at);
    const length = space < 0 ? Number.NaN : Number(header.toString('latin1', at, space));
    if (!Number.isInteger(length) || length <= space - at || at + length > header.length)
      throw new TarError('a header of the archive is damaged');
    const [key, value] = splitOnce(header.toString('utf8', space + 1, at + length - 1));
    if (key === 'path') fields.path = value;
    else if (key === 'linkpath') fields.linkpath = value;
    else if (key === 'size') {
      if (!/^\d{1,15}$/.test(value)) throw new TarError(`expected a size, found ${JSON.stringify(value)}`);
      fields.size = Number(value);
    } else if (key.startsWith('GNU.sparse')) throw new TarError('sparse files are not supported');
    at += length;
  }
  return fields;
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
