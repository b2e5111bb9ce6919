import { spend, spendText } from '@capstan/machinery';
import { elementPairs, valuePairs } from './pairs.ts';
import { Double, ListValue, MapValue, type Pairs, Uint, type Value } from './value.ts';

/** A list created by an expression. */
export class ArrayList extends ListValue {
  static readonly empty = new ArrayList([]);
  readonly elements: readonly Value[];

  constructor(elements: readonly Value[]) {
    super();
    this.elements = elements;
  }

  get size(): number {
    return this.elements.length;
  }

  at(index: number): Value {
    return this.elements[index]!;
  }

  pairs(other: ListValue): Pairs | boolean {
    return elementPairs(this, other);
  }

  concatenate(other: ListValue): ListValue {
    spend(this.size);
    return new ArrayList(this.elements.concat(elementsOf(other)));
  }
}

export function elementsOf(list: ListValue): readonly Value[] {
  spend(list.size);
  return list instanceof ArrayList ? list.elements : Array.from({ length: list.size }, (_, index) => list.at(index));
}

/** The lookup key for a map key: numbers of equal value are one key, whatever their types. Undefined for a value that cannot be a key. */
export function keyOf(value: Value): string | number | boolean | bigint | undefined {
  switch (typeof value) {
    case 'string':
      spendText(value.length);
      return `s${value}`;
    case 'number':
    case 'boolean':
    case 'bigint':
      return value;
    default:
      if (value instanceof Uint) return smallest(value.value);
      if (value instanceof Double) return Number.isInteger(value.value) ? smallest(BigInt(value.value)) : value.value;
      return undefined;
  }
}

function smallest(value: bigint): number | bigint {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
}

/** A map created by an expression. */
export class EntryMap extends MapValue {
  readonly #entries: Map<unknown, { key: Value; value: Value }>;

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    super();
    this.#entries = new Map();
    for (const [key, value] of entries) this.set(key, value);
  }

  get size(): number {
    return this.#entries.size;
  }

  find(key: Value): Value | undefined {
    return this.#entries.get(keyOf(key))?.value;
  }

  keys(): Value[] {
    spend(this.size);
    return Array.from(this.#entries.values(), (entry) => entry.key);
  }

  pairs(other: MapValue): Pairs | boolean {
    return valuePairs(this, other);
  }

  /** Adds or replaces an entry while the map is being built. */
  set(key: Value, value: Value): void {
    this.#entries.set(keyOf(key), { key, value });
  }

  /** Adds an entry while the map is being built; false if the key already exists. */
  insert(key: Value, value: Value): boolean {
    const found = keyOf(key);
    if (this.#entries.has(found)) return false;
    this.#entries.set(found, { key, value });
    return true;
  }
}
