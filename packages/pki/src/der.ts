/** The subset of DER (X.690) that certificates need: writing values, and reading those of a well-formed certificate. */

export function tlv(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), length(content.length), content]);
}

function length(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size]);
  const bytes: number[] = [];
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export const sequence = (...items: Buffer[]): Buffer => tlv(0x30, ...items);
export const set = (...items: Buffer[]): Buffer => tlv(0x31, ...items);
export const octetString = (content: Buffer): Buffer => tlv(0x04, content);
export const bitString = (content: Buffer, unusedBits = 0): Buffer => tlv(0x03, Buffer.from([unusedBits]), content);
export const utf8String = (text: string): Buffer => tlv(0x0c, Buffer.from(text));
export const nothing = (): Buffer => Buffer.from([0x05, 0x00]);
export const truth = (): Buffer => Buffer.from([0x01, 0x01, 0xff]);
export const explicit = (number: number, ...items: Buffer[]): Buffer => tlv(0xa0 | number, ...items);

/** A positive integer from its big-endian bytes. */
export function integer(bytes: Buffer): Buffer {
  return bytes[0]! & 0x80 ? tlv(0x02, Buffer.from([0]), bytes) : tlv(0x02, bytes);
}

export function objectIdentifier(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split('.').map(Number);
  const bytes = [first! * 40 + second!];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128)) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tlv(0x06, Buffer.from(bytes));
}

/** UTCTime until 2049, GeneralizedTime after that, as RFC 5280 requires. */
export function time(at: Date): Buffer {
  const digits = `${at.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;
  return at.getUTCFullYear() < 2050 ? tlv(0x17, Buffer.from(digits.slice(2))) : tlv(0x18, Buffer.from(digits));
}

export interface Element {
  readonly tag: number;
  /** The value including its tag and length. */
  readonly whole: Buffer;
  readonly content: Buffer;
}

/** The consecutive values in `bytes`. */
export function elements(bytes: Buffer): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    let contentAt = at + 2;
    let size = bytes[at + 1] ?? 0;
    if (size >= 0x80) {
      const lengthBytes = size & 0x7f;
      size = bytes.readUIntBE(at + 2, lengthBytes);
      contentAt += lengthBytes;
    }
    const end = contentAt + size;
    if (end > bytes.length)
      throw new RangeError(`a DER value of ${size} bytes at offset ${contentAt} does not fit into ${bytes.length} bytes`);
    found.push({ tag: bytes[at]!, whole: bytes.subarray(at, end), content: bytes.subarray(contentAt, end) });
    at = end;
  }
  return found;
}
