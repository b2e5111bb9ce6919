/** Request times in milliseconds. Memory is allocated before the clock starts. */
export class Latencies {
  #values: Float64Array;
  #count = 0;
  #sorted = false;

  constructor(capacity: number) {
    this.#values = new Float64Array(Math.max(16, capacity));
  }

  get count(): number {
    return this.#count;
  }

  add(milliseconds: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = milliseconds;
    this.#sorted = false;
  }

  /** The time that this share of all requests did not exceed; NaN if there were none. */
  quantile(share: number): number {
    if (!this.#sorted) {
      this.#values.subarray(0, this.#count).sort();
      this.#sorted = true;
    }
    return this.#count === 0 ? Number.NaN : this.#values[Math.min(this.#count - 1, Math.ceil(share * this.#count) - 1)]!;
  }
}
