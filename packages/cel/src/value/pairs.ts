import { type ListValue, type MapValue, Pairs, type Value } from './value.ts';

/** The elements of two lists, in order. */
export class ElementPairs extends Pairs {
  readonly one: ListValue;
  readonly other: ListValue;
  #index = 0;

  constructor(one: ListValue, other: ListValue) {
    super();
    this.one = one;
    this.other = other;
  }

  next(): boolean {
    const index = this.#index++;
    return index < this.one.size && this.take(this.one.at(index), this.other.at(index));
  }
}

export function elementPairs(one: ListValue, other: ListValue): Pairs | boolean {
  return one.size === other.size && new ElementPairs(one, other);
}

/** The values of the same keys in two maps. */
class ValuePairs extends Pairs {
  readonly #one: MapValue;
  readonly #other: MapValue;
  readonly #keys: readonly Value[];
  #index = 0;

  constructor(one: MapValue, other: MapValue) {
    super();
    this.#one = one;
    this.#other = other;
    this.#keys = one.keys();
  }

  next(): boolean {
    if (this.#index === this.#keys.length) return false;
    const key = this.#keys[this.#index++]!;
    const found = this.#other.find(key);
    return found === undefined ? this.differ() : this.take(this.#one.find(key)!, found);
  }
}

export function valuePairs(one: MapValue, other: MapValue): Pairs | boolean {
  return one.size === other.size && new ValuePairs(one, other);
}
