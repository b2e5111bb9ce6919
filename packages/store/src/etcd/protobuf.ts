/* Protocol Buffers, limited to what etcd's messages need. Integers are JavaScript numbers: revisions stay far below 2^53. */

/**
 * Writes a message from its last byte to its first. A nested message is then complete when its length has to be written, so nothing is
 * measured or copied twice. Fields must therefore be written in reverse order.
 */
export class ReverseWriter {
  #buffer: Buffer;
  #position: number;

  constructor(capacity: number) {
    this.#buffer = Buffer.allocUnsafe(capacity);
    this.#position = capacity;
  }

  /** How much has been written: read before a nested message, and passed to `nested` after it. */
  get length(): number {
    return this.#buffer.length - this.#position;
  }

  finish(): Buffer {
    return this.#buffer.subarray(this.#position);
  }

  /** Zero is the default and is not written. */
  integer(field: number, value: number): void {
    if (value === 0) return;
    this.#varint(value);
    this.#varint(field * 8);
  }

  boolean(field: number, value: boolean): void {
    this.integer(field, value ? 1 : 0);
  }

  text(field: number, value: string): void {
    const length = Buffer.byteLength(value);
    this.#reserve(length);
    this.#position -= length;
    this.#buffer.write(value, this.#position, length, 'utf8');
    this.#varint(length);
    this.#varint(field * 8 + 2);
  }

  /** Makes everything written since `before` the content of a field. */
  nested(field: number, before: number): void {
    this.#varint(this.length - before);
    this.#varint(field * 8 + 2);
  }

  #varint(value: number): void {
    let size = 1;
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
    this.#reserve(size);
    this.#position -= size;
    let at = this.#position;
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#buffer[at++] = (rest % 128) + 128;
    this.#buffer[at] = rest;
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#position) return;
    const { length } = this;
    const larger = Buffer.allocUnsafe((length + bytes) * 2);
    this.#buffer.copy(larger, larger.length - length, this.#position);
    this.#position = larger.length - length;
    this.#buffer = larger;
  }
}

/** Iterates over the fields of a message and skips unknown ones. */
export class Reader {
  readonly #buffer: Buffer;
  #position: number;
  #end: number;
  #wireType = 0;

  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    this.#buffer = buffer;
    this.#position = start;
    this.#end = end;
  }

  /** The number of the next field, or 0 at the end. Its value must be read or skipped before the next call. */
  field(): number {
    if (this.#position >= this.#end) return 0;
    const tag = this.integer();
    this.#wireType = tag & 7;
    return tag >>> 3;
  }

  /** A varint as a signed 64-bit integer. */
  integer(): number {
    const buffer = this.#buffer;
    const start = this.#position;
    const first = buffer[this.#position++]!;
    if (first < 128) return first;
    let value = first - 128;
    let scale = 128;
    for (let index = 1; index < 10; index++) {
      const byte = buffer[this.#position++];
      if (byte === undefined) break;
      if (index === 9) return this.#negative(start);
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
    throw new Error('an etcd message ends in the middle of a number');
  }

  /** Ten bytes, the last of which contains only the sign: too many for a JavaScript number to add up without rounding. */
  #negative(start: number): number {
    let value = 0n;
    for (let index = 9; index >= 0; index--) value = (value << 7n) | BigInt(this.#buffer[start + index]! & 127);
    return Number(BigInt.asIntN(64, value));
  }

  boolean(): boolean {
    return this.integer() !== 0;
  }

  /** Text, without its first `skip` bytes. */
  text(skip = 0): string {
    const { start, end } = this.#delimited();
    return this.#buffer.toString('utf8', start + skip, end);
  }

  nested(): Reader {
    const { start, end } = this.#delimited();
    return new Reader(this.#buffer, start, end);
  }

  skip(): void {
    if (this.#wireType === 0) this.integer();
    else if (this.#wireType === 1) this.#position += 8;
    else if (this.#wireType === 2) this.#delimited();
    else if (this.#wireType === 5) this.#position += 4;
    else throw new Error(`an etcd message has a field of the unknown wire type ${this.#wireType}`);
  }

  #delimited(): { start: number; end: number } {
    const length = this.integer();
    const start = this.#position;
    const end = start + length;
    if (end > this.#end) throw new Error('an etcd message ends in the middle of a field');
    this.#position = end;
    return { start, end };
  }
}
