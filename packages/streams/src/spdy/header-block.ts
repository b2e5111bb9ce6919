import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { dictionary, dictionaryId } from './dictionary.ts';
import { SpdyProtocolError } from './protocol-error.ts';

/** Names in lower case. Several values of a name are joined with NUL on the wire, and here with a comma. */
export type Headers = Readonly<Record<string, string>>;

const nothing = Buffer.alloc(0);
/** How far back deflate can refer. */
const reach = 32 << 10;
/** The zlib header for the usual window and level, followed by the id of a dictionary. */
const zlibHeader = Buffer.from([
  0x78,
  0xbb,
  dictionaryId >>> 24,
  (dictionaryId >>> 16) & 0xff,
  (dictionaryId >>> 8) & 0xff,
  dictionaryId & 0xff,
]);

/**
 * The text before the next header block, as far as deflate can refer to it. All header blocks of a direction are one zlib stream, and each
 * ends with a flush, at the border of a byte. So any block can be packed and unpacked by itself, with the text before it as the dictionary,
 * and an idle connection needs no zlib state.
 */
class History {
  /** In memory of its own: a slice of a shared buffer would keep all of that alive for as long as the connection is open. */
  #added = nothing;
  isFresh = true;

  get text(): Buffer {
    return this.#added.length === 0 ? dictionary : lastOf(Buffer.concat([dictionary, this.#added]));
  }

  add(more: Buffer): void {
    const added = lastOf(Buffer.concat([this.#added, more]));
    this.#added = Buffer.allocUnsafeSlow(added.length);
    added.copy(this.#added);
    this.isFresh = false;
  }
}

const lastOf = (text: Buffer): Buffer => text.subarray(Math.max(0, text.length - reach));

export class HeaderPacker {
  readonly #history = new History();

  pack(headers: Headers): Buffer {
    const plain = encodePairs(headers);
    const packed = deflateRawSync(plain, { dictionary: this.#history.text, finishFlush: constants.Z_SYNC_FLUSH });
    const block = this.#history.isFresh ? Buffer.concat([zlibHeader, packed]) : packed;
    this.#history.add(plain);
    return block;
  }
}

export class HeaderUnpacker {
  readonly #history = new History();
  readonly #limit: number;

  /** The limit is on the size of a block before compression. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  unpack(block: Buffer): Headers {
    const isFirst = this.#history.isFresh;
    const withDictionary = isFirst && checkZlibHeader(block);
    const plain = this.#inflate(isFirst ? block.subarray(withDictionary ? 6 : 2) : block, isFirst && !withDictionary);
    this.#history.add(plain);
    return decodePairs(plain);
  }

  #inflate(block: Buffer, isBare: boolean): Buffer {
    try {
      return inflateRawSync(block, {
        ...(!isBare && { dictionary: this.#history.text }),
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: this.#limit,
      });
    } catch (error) {
      throw new SpdyProtocolError(`a header block cannot be decompressed to at most ${this.#limit} bytes`, { cause: error });
    }
  }
}

/** Whether the stream uses the dictionary. */
function checkZlibHeader(block: Buffer): boolean {
  if (block.length < 2 || (block[0]! & 0x0f) !== 8 || block.readUInt16BE() % 31 !== 0)
    throw new SpdyProtocolError('the first header block is not the start of a zlib stream');
  if ((block[1]! & 0x20) === 0) return false;
  if (block.length < 6 || block.readUInt32BE(2) !== dictionaryId)
    throw new SpdyProtocolError('the first header block is compressed with an unknown dictionary');
  return true;
}

function encodePairs(headers: Headers): Buffer {
  const pairs = Object.entries(headers);
  const parts: Buffer[] = [number(pairs.length)];
  for (const [name, value] of pairs) {
    for (const text of [name.toLowerCase(), value]) {
      const bytes = Buffer.from(text);
      parts.push(number(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

function number(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function decodePairs(plain: Buffer): Headers {
  let at = 0;
  const integer = (): number => {
    if (at + 4 > plain.length) throw new SpdyProtocolError('a header block ends too early');
    at += 4;
    return plain.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = integer();
    if (at + length > plain.length) throw new SpdyProtocolError('a header block ends too early');
    at += length;
    return plain.toString('utf8', at - length, at);
  };
  const headers = new Map<string, string>();
  for (let left = integer(); left > 0; left--) {
    const name = text().toLowerCase();
    if (name === '' || headers.has(name)) throw new SpdyProtocolError('a header block has an empty or repeated name');
    headers.set(name, text().replaceAll('\0', ','));
  }
  if (at !== plain.length) throw new SpdyProtocolError('a header block has more bytes than headers');
  return Object.fromEntries(headers);
}
