import { type ArchiveEntry, ArchiveError, blockSize, paddingOf } from './entry.ts';

const types = { file: '0', link: '2', folder: '5' } as const;
const longName = 'L';
const longTarget = 'K';
const mostOctal = 0o77777777777;

/** The blocks before the content of a file. Names that do not fit come in entries of their own, which every `tar` reads (also BusyBox, which ignores pax headers). */
export function encodeHeader(entry: ArchiveEntry): Buffer {
  const { path, target = '' } = entry;
  const name = Buffer.from(entry.type === 'folder' ? `${path}/` : path, 'latin1');
  const link = Buffer.from(target, 'latin1');
  return Buffer.concat([
    ...(link.length > 100 ? [longField(longTarget, link)] : []),
    ...(name.length > 100 ? [longField(longName, name)] : []),
    block({ ...entry, name, link, type: types[entry.type] }),
  ]);
}

function longField(type: string, text: Buffer): Buffer {
  const content = Buffer.concat([text, Buffer.alloc(1)]);
  const name = Buffer.from('././@LongLink');
  const head = block({ name, link: Buffer.alloc(0), type, mode: 0o644, modified: 0, size: content.length });
  return Buffer.concat([head, content, Buffer.alloc(paddingOf(content.length))]);
}

interface Fields {
  readonly name: Buffer;
  readonly link: Buffer;
  readonly type: string;
  readonly mode: number;
  readonly modified: number;
  readonly size: number;
}

/** Owners are left out: files belong to the user who unpacks them. */
function block({ name, link, type, mode, modified, size }: Fields): Buffer {
  const header = Buffer.alloc(blockSize);
  name.copy(header, 0, 0, 100);
  octal(header, mode & 0o7777, { at: 100, length: 8 });
  octal(header, 0, { at: 108, length: 8 });
  octal(header, 0, { at: 116, length: 8 });
  number(header, size, { at: 124, length: 12 });
  number(header, Math.max(0, Math.floor(modified)), { at: 136, length: 12 });
  header.write(type, 156);
  link.copy(header, 157, 0, 100);
  header.write('ustar  \0', 257, 'latin1');
  header.fill(' ', 148, 156);
  header.write(`${checksum(header).toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

interface Field {
  readonly at: number;
  readonly length: number;
}

function octal(header: Buffer, value: number, { at, length }: Field): void {
  header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at);
}

/** Numbers that are too large for octal digits are binary, marked by the first bit. */
function number(header: Buffer, value: number, field: Field): void {
  if (value <= mostOctal) return octal(header, value, field);
  header[field.at] = 0x80;
  header.writeBigUInt64BE(BigInt(value), field.at + field.length - 8);
}

function checksum(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < blockSize; at++) sum += at >= 148 && at < 156 ? 32 : header[at]!;
  return sum;
}

/** A block that describes what follows. `type` is the letter of the format. */
export interface RawHeader {
  readonly name: string;
  readonly link: string;
  readonly type: string;
  readonly mode: number;
  readonly modified: number;
  readonly size: number;
}

/** Undefined for a block of zeros, which marks the end. */
export function decodeHeader(header: Buffer): RawHeader | undefined {
  if (header.every((byte) => byte === 0)) return undefined;
  if (numberAt(header, { at: 148, length: 8 }) !== checksum(header)) throw new ArchiveError('the archive is damaged: a checksum is wrong');
  const isPosix = header.toString('latin1', 257, 263) === 'ustar\0';
  const prefix = isPosix ? textAt(header, { at: 345, length: 155 }) : '';
  const name = textAt(header, { at: 0, length: 100 });
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    link: textAt(header, { at: 157, length: 100 }),
    type: String.fromCharCode(header[156]!),
    mode: numberAt(header, { at: 100, length: 8 }) & 0o7777,
    modified: numberAt(header, { at: 136, length: 12 }),
    size: numberAt(header, { at: 124, length: 12 }),
  };
}

function textAt(header: Buffer, { at, length }: Field): string {
  const end = header.indexOf(0, at);
  return header.toString('latin1', at, end < 0 || end > at + length ? at + length : end);
}

function numberAt(header: Buffer, { at, length }: Field): number {
  if ((header[at]! & 0x80) !== 0) {
    const value = header.readBigUInt64BE(at + length - 8);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new ArchiveError('the archive is damaged: a number is too large');
    return Number(value);
  }
  const text = header
    .toString('latin1', at, at + length)
    .replace(/[\0 ]+/g, ' ')
    .trim();
  if (text === '') return 0;
  if (!/^[0-7]+$/.test(text)) throw new ArchiveError('the archive is damaged: expected an octal number');
  return Number.parseInt(text, 8);
}
