/** A map for values that can be computed again: when it is full, it starts over. That costs nothing per read, unlike a record of which entry was used last. */
export class BoundedMap<Key, Value> {
  readonly #capacity: number;
  readonly #values = new Map<Key, Value>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  set(key: Key, value: Value): void {
    if (this.#values.size >= this.#capacity && !this.#values.has(key)) this.#values.clear();
    this.#values.set(key, value);
  }

  /** The value under the key, computed if it is not there. */
  getOrCompute(key: Key, compute: () => Value): Value {
    let value = this.#values.get(key);
    if (value === undefined) this.set(key, (value = compute()));
    return value;
  }

  delete(key: Key): void {
    this.#values.delete(key);
  }

  clear(): void {
    this.#values.clear();
  }
}
