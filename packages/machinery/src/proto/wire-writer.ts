import { wire } from './wire-reader.ts';

/**
 * Writes protobuf from end to start: a message's length is known once it is written, so nothing is measured in advance or moved. Callers
 * write in reverse order: the last field first, and each value before its tag.
 */
export class BackwardWriter {
  #buffer = Buffer.allocUnsafe(512);
  #start = 512;

  /** The number of bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  result(): Buffer {
    return this.#buffer.subarray(this.#start);
  }

  tag(number: number, wireType: number): void {
    this.varint(number * 8 + wireType);
  }

  /** Closes a message that began when `length` was `from`. */
  closeMessage(number: number, from: number): void {
    this.varint(this.length - from);
    this.tag(number, wire.bytes);
  }

  bytes(value: Buffer): void {
    this.#reserve(value.length);
    this.#start -= value.length;
    value.copy(this.#buffer, this.#start);
    this.varint(value.length);
  }

  string(value: string): void {
    const size = Buffer.byteLength(value);
    this.#reserve(size);
    this.#start -= size;
    this.#buffer.write(value, this.#start, 'utf8');
    this.varint(size);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#start -= 8;
    this.#buffer.writeDoubleLE(value, this.#start);
  }

  varint(value: number): void {
    if (value >= 0 && value < 0x80) {
      this.#reserve(1);
      this.#buffer[--this.#start] = value;
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(value));
    const groups: number[] = [];
    do {
      groups.push(Number(rest & 0x7fn));
      rest >>= 7n;
    } while (rest > 0n);
    this.#reserve(groups.length);
    for (let index = groups.length - 1; index >= 0; index--)
      this.#buffer[--this.#start] = groups[index]! | (index === groups.length - 1 ? 0 : 0x80);
  }

  #reserve(size: number): void {
    if (size <= this.#start) return;
    const used = this.length;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, used + size));
    this.#buffer.copy(grown, grown.length - used, this.#start);
    this.#start = grown.length - used;
    this.#buffer = grown;
  }
}
