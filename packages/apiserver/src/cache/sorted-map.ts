/** How many entries a chunk may hold before it is split: large enough to keep chunks few, small enough that an insertion moves little. */
const chunkLimit = 512;

interface Keyed {
  readonly key: string;
}

/**
 * A map that can also be walked in key order: a hash map for lookups, and sorted chunks for ranges. An insertion moves at most
 * one chunk, so a write to a map of a million keys costs the same as to one of a thousand.
 */
export class SortedMap<T extends Keyed> {
  readonly #byKey = new Map<string, T>();
  #chunks: T[][] = [];

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): T | undefined {
    return this.#byKey.get(key);
  }

  set(value: T): void {
    const known = this.#byKey.has(value.key);
    this.#byKey.set(value.key, value);
    if (this.#chunks.length === 0) {
      this.#chunks.push([value]);
      return;
    }
    const chunkIndex = this.#chunkFor(value.key);
    const chunk = this.#chunks[chunkIndex]!;
    const at = lowerBound(chunk, value.key);
    if (known) {
      chunk[at] = value;
      return;
    }
    if (at === chunk.length) chunk.push(value);
    else chunk.splice(at, 0, value);
    if (chunk.length > chunkLimit) this.#chunks.splice(chunkIndex + 1, 0, chunk.splice(chunkLimit / 2));
  }

  delete(key: string): T | undefined {
    const value = this.#byKey.get(key);
    if (value === undefined) return undefined;
    this.#byKey.delete(key);
    const chunkIndex = this.#chunkFor(key);
    const chunk = this.#chunks[chunkIndex]!;
    chunk.splice(lowerBound(chunk, key), 1);
    if (chunk.length === 0) this.#chunks.splice(chunkIndex, 1);
    return value;
  }

  /** Visits the values with keys from `start` up to but not including `end`, in order, until `visit` returns false. */
  walk(start: string, end: string, visit: (value: T) => boolean): void {
    if (this.#chunks.length === 0) return;
    for (let chunkIndex = this.#chunkFor(start); chunkIndex < this.#chunks.length; chunkIndex++) {
      const chunk = this.#chunks[chunkIndex]!;
      if (chunk[0]!.key >= end) return;
      for (let at = chunk[0]!.key >= start ? 0 : lowerBound(chunk, start); at < chunk.length; at++) {
        const value = chunk[at]!;
        if (value.key >= end || !visit(value)) return;
      }
    }
  }

  count(start: string, end: string): number {
    if (this.#chunks.length === 0 || end <= start) return 0;
    let total = 0;
    for (let chunkIndex = this.#chunkFor(start); chunkIndex < this.#chunks.length; chunkIndex++) {
      const chunk = this.#chunks[chunkIndex]!;
      if (chunk[0]!.key >= end) break;
      const from = chunk[0]!.key >= start ? 0 : lowerBound(chunk, start);
      const to = chunk[chunk.length - 1]!.key < end ? chunk.length : lowerBound(chunk, end);
      total += to - from;
    }
    return total;
  }

  /** The chunk that contains or would contain the key: the last one that starts at or before it. */
  #chunkFor(key: string): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#chunks[middle]![0]!.key <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function lowerBound(chunk: readonly Keyed[], key: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (chunk[middle]!.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
