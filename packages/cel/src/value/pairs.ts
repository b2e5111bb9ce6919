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

/** The values of the same keys in two maps. To list the names of a large one takes milliseconds, so each list is a step of its own. */
class ValuePairs extends Pairs {
  readonly #one: MapValue;
  readonly #other: MapValue;
  #size: number | undefined;
  #isSameSize = false;
  #keys: readonly Value[] | undefined;
  #index = 0;

  constructor(one: MapValue, other: MapValue) {
    super();
    this.#one = one;
    this.#other = other;
  }

  next(): boolean {
    if (this.#keys === undefined) return this.#prepare();
    if (this.#index === this.#keys.length) return false;
    const key = this.#keys[this.#index++]!;
    const found = this.#other.find(key);
    return found === undefined ? this.differ() : this.take(this.#one.find(key)!, found);
  }

  #prepare(): boolean {
    if (this.#size === undefined) this.#size = this.#one.size;
    else if (!this.#isSameSize) {
      this.#isSameSize = this.#other.size === this.#size;
      if (!this.#isSameSize) return this.differ();
    } else this.#keys = this.#one.keys();
    return this.take(undefined, undefined);
  }
}

export function valuePairs(one: MapValue, other: MapValue): Pairs {
  return new ValuePairs(one, other);
}
