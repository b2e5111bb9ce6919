/** Writes the data types of RFC 4251, section 5. */
export class WireWriter {
  readonly #parts: Buffer[] = [];

  byte(value: number): this {
    return this.bytes(Buffer.from([value]));
  }

  boolean(value: boolean): this {
    return this.byte(value ? 1 : 0);
  }

  uint32(value: number): this {
    const part = Buffer.allocUnsafe(4);
    part.writeUInt32BE(value);
    return this.bytes(part);
  }

  string(value: Buffer | string): this {
    const part = typeof value === 'string' ? Buffer.from(value) : value;
    return this.uint32(part.length).bytes(part);
  }

  names(values: readonly string[]): this {
    return this.string(values.join(','));
  }

  /** A number that is not negative, from its bytes: without zeros in front, except for one before a first bit that is set. */
  multiplePrecision(value: Buffer): this {
    let from = 0;
    while (from < value.length && value[from] === 0) from++;
    const digits = value.subarray(from);
    return this.string(digits.length > 0 && digits[0]! >= 0x80 ? Buffer.concat([Buffer.alloc(1), digits]) : digits);
  }

  bytes(part: Buffer): this {
    this.#parts.push(part);
    return this;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** A message that begins with its number. */
export const messageOf = (number: number): WireWriter => new WireWriter().byte(number);
