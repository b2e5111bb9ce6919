/** An LRU cache whose values expire. */
export class Memory<Value> {
  readonly #capacity: number;
  readonly #now: () => number;
  readonly #entries = new Map<string, { readonly value: Value; readonly until: number }>();

  constructor(capacity: number, now: () => number) {
    this.#capacity = capacity;
    this.#now = now;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (entry.until <= this.#now()) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** `lifetime` in milliseconds. */
  set(key: string, value: Value, lifetime: number): void {
    this.#entries.delete(key);
    if (lifetime <= 0) return;
    this.#entries.set(key, { value, until: this.#now() + lifetime });
    if (this.#entries.size <= this.#capacity) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest!);
  }
}
