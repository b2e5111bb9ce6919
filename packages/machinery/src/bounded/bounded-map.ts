/** A map for values that can be computed again: when it is full, it starts over. Reads cost no more than those of a Map, unlike with a record of which entry was used last. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #capacity: number;

  constructor(capacity: number) {
    super();
    this.#capacity = capacity;
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#capacity && !this.has(key)) this.clear();
    return super.set(key, value);
  }

  /** The value under the key, computed if it is missing. */
  getOrCompute(key: Key, compute: () => Value): Value {
    let value = this.get(key);
    if (value === undefined) this.set(key, (value = compute()));
    return value;
  }
}
