/** Rows of numbers with a time, of which the newest are kept. It grows as needed up to its capacity; absent numbers are NaN. */
export class Ring {
  readonly #capacity: number;
  readonly #columns: number;
  #times = new Float64Array(0);
  #values = new Float32Array(0);
  /** The position of the oldest row. */
  #start = 0;
  #length = 0;

  constructor(capacity: number, columns: number) {
    this.#capacity = Math.max(1, capacity);
    this.#columns = columns;
  }

  get length(): number {
    return this.#length;
  }

  get columns(): number {
    return this.#columns;
  }

  /** The time of the newest row. */
  get last(): number {
    return this.#length === 0 ? Number.NEGATIVE_INFINITY : this.#times[this.#position(this.#length - 1)]!;
  }

  /** Rows from the future, written before the clock was set back, are forgotten: time ascends, and new rows are never refused. */
  push(at: number, row: readonly (number | undefined)[]): void {
    while (this.last > at) this.#length--;
    if (this.#length === this.#times.length && this.#length < this.#capacity) this.#grow();
    const isFull = this.#length === this.#capacity;
    const position = isFull ? this.#start : this.#position(this.#length);
    this.#times[position] = at;
    for (let column = 0; column < this.#columns; column++) this.#values[position * this.#columns + column] = row[column] ?? Number.NaN;
    if (isFull) this.#start = (this.#start + 1) % this.#times.length;
    else this.#length++;
  }

  /** Calls with every row from `from`, before `to`, oldest first. */
  between(from: number, to: number, visit: (at: number, row: readonly number[]) => void): void {
    for (let index = this.#firstSince(from); index < this.#length; index++) {
      const position = this.#position(index);
      const at = this.#times[position]!;
      if (at >= to) return;
      visit(at, [...this.#values.subarray(position * this.#columns, (position + 1) * this.#columns)]);
    }
  }

  #firstSince(from: number): number {
    let [low, high] = [0, this.#length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#times[this.#position(middle)]! < from) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #position(index: number): number {
    return (this.#start + index) % this.#times.length;
  }

  #grow(): void {
    const size = Math.min(this.#capacity, Math.max(64, 2 * this.#times.length));
    const times = new Float64Array(size);
    const values = new Float32Array(size * this.#columns);
    times.set(this.#times);
    values.set(this.#values);
    this.#times = times;
    this.#values = values;
  }
}
