import { DecodeError, unexpectedEnd } from './error.ts';

export const wire = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/** Fields of a message, with those of all messages in it. Reading more would block everybody else. */
const mostFields = 200_000;
/** Entries of one map. Objects with more fields take long to read and to change. */
const mostEntries = 20_000;

/** Reads the elements of protobuf from a range of a buffer, never past its end. */
export class WireReader {
  readonly #buffer: Buffer;
  #index: number;
  #end: number;
  #fields = 0;
  #entries: Map<object, number> | undefined;
  /** The field number of the last tag. */
  number = 0;
  wireType = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
    this.#index = 0;
    this.#end = buffer.length;
  }

  /** Reads the next tag into `number` and `wireType`; false at the end. */
  nextTag(): boolean {
    if (this.#index >= this.#end) return false;
    this.count();
    const tag = this.#varint32();
    this.number = tag >>> 3;
    this.wireType = tag & 7;
    if (this.number === 0) throw new DecodeError(`proto: illegal tag ${this.number} (wire type ${this.wireType})`);
    return true;
  }

  /** Counts one more field, or one more number of a packed list. */
  count(): void {
    if (++this.#fields > mostFields) throw new DecodeError(`proto: a message may have at most ${mostFields} fields`);
  }

  /** Counts one more entry of a map. */
  countEntry(map: object): void {
    this.#entries ??= new Map();
    const count = (this.#entries.get(map) ?? 0) + 1;
    if (count > mostEntries) throw new DecodeError(`proto: a map may have at most ${mostEntries} entries`);
    this.#entries.set(map, count);
  }

  /** Throws if the last tag's wire type is not that of the field. */
  expect(wireType: number, field: string): void {
    if (this.wireType === wireType) return;
    throw new DecodeError(`proto: wrong wireType = ${this.wireType} for field ${field.charAt(0).toUpperCase()}${field.slice(1)}`);
  }

  /** Narrows the reader to the next message; pass the result to `leave`. */
  enter(): number {
    const length = this.#length();
    const outer = this.#end;
    this.#end = this.#index + length;
    return outer;
  }

  leave(outer: number): void {
    this.#index = this.#end;
    this.#end = outer;
  }

  atEnd(): boolean {
    return this.#index >= this.#end;
  }

  /** A signed 64-bit integer. Values that JavaScript cannot hold exactly are rounded, as in JSON.parse. */
  varint64(): number {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) return (high | 0) * 0x1_0000_0000 + (low >>> 0);
    }
    throw new DecodeError('proto: integer overflow');
  }

  /** The lower 32 bits, signed: a negative int32 is encoded with 64 bits. */
  varint32(): number {
    return this.varint64() | 0;
  }

  double(): number {
    if (this.#index + 8 > this.#end) throw unexpectedEnd();
    const value = this.#buffer.readDoubleLE(this.#index);
    this.#index += 8;
    return value;
  }

  string(): string {
    return this.#slice('utf8');
  }

  base64(): string {
    return this.#slice('base64');
  }

  bytes(): Buffer {
    const length = this.#length();
    const start = this.#index;
    this.#index += length;
    return this.#buffer.subarray(start, this.#index);
  }

  /** Skips a value of any wire type. */
  skip(): void {
    let open = 0;
    let type = this.wireType;
    for (;;) {
      if (type === wire.varint) this.varint64();
      else if (type === wire.fixed64) this.#advance(8);
      else if (type === wire.bytes) this.#advance(this.#length());
      else if (type === wire.startGroup) open++;
      else if (type === wire.endGroup) {
        if (open === 0) throw new DecodeError('proto: unexpected end of group');
        open--;
      } else if (type === wire.fixed32) this.#advance(4);
      else throw new DecodeError(`proto: illegal wireType ${type}`);
      if (open === 0) return;
      if (this.#index >= this.#end) throw unexpectedEnd();
      type = this.#varint32() & 7;
    }
  }

  #slice(encoding: 'utf8' | 'base64'): string {
    const length = this.#length();
    const start = this.#index;
    this.#index += length;
    return this.#buffer.toString(encoding, start, this.#index);
  }

  #length(): number {
    const length = this.varint64();
    if (length < 0) throw new DecodeError('proto: negative length found during unmarshaling');
    if (length > this.#end - this.#index) throw unexpectedEnd();
    return length;
  }

  #advance(count: number): void {
    if (count > this.#end - this.#index) throw unexpectedEnd();
    this.#index += count;
  }

  #byte(): number {
    if (this.#index >= this.#end) throw unexpectedEnd();
    return this.#buffer[this.#index++]!;
  }

  #varint32(): number {
    const byte = this.#buffer[this.#index]!;
    if (byte < 0x80) {
      this.#index++;
      return byte;
    }
    return this.varint64() >>> 0;
  }
}
