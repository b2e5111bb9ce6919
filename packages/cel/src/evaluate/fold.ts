import { insertEntries, insertEntry } from '../library/map-insert.ts';
import { ArrayList, EntryMap } from '../value/collections.ts';
import { type CelError, isError, MapValue, noSuchOverload, type Value } from '../value/value.ts';
import type { Run } from './run.ts';

/** Collects the elements of a loop into its outcome, in one evaluation. */
export abstract class Fold {
  #failed: CelError | undefined;

  /** Whether to include an element; an error in deciding that is the latest one. */
  keeps(value: Value): boolean {
    if (typeof value === 'boolean') return value;
    this.fail(value);
    return false;
  }

  /** Takes what the body made of an element; any result but undefined ends the loop with that outcome. */
  abstract take(run: Run, value: Value, isLast: boolean): Value | undefined;

  /** The outcome, if no element ended the loop: an error, if there was one. */
  result(): Value {
    return this.#failed ?? this.made();
  }

  protected abstract made(): Value;

  protected fail(value: Value): void {
    this.#failed = isError(value) ? value : noSuchOverload;
  }

  protected failOnce(value: Value): void {
    if (this.#failed === undefined) this.fail(value);
  }
}

/** `all` stops at the first false, `exists` at the first true; errors count only if no element decides. */
export class Quantifier extends Fold {
  readonly #decisive: boolean;
  readonly #condition: number;

  constructor(decisive: boolean, condition: number) {
    super();
    this.#decisive = decisive;
    this.#condition = condition;
  }

  take(run: Run, value: Value, isLast: boolean): Value | undefined {
    if (value === this.#decisive) {
      if (!isLast) run.charge(this.#condition);
      return value;
    }
    if (value !== !this.#decisive) this.failOnce(value);
    return undefined;
  }

  protected made(): Value {
    return !this.#decisive;
  }
}

/** This loop continues after an error, which then becomes the outcome; continuing has a cost. */
export class ExistsOne extends Fold {
  #count = 0;

  take(run: Run, value: Value): undefined {
    if (value === true) {
      this.#count++;
      run.charge(2);
    } else if (value !== false) this.fail(value);
  }

  protected made(): Value {
    return this.#count === 1;
  }
}

export class ListFold extends Fold {
  readonly #elements: Value[] = [];

  take(_run: Run, value: Value): undefined {
    if (isError(value)) this.failOnce(value);
    else this.#elements.push(value);
  }

  protected made(): Value {
    return new ArrayList(this.#elements);
  }
}

export class MapFold extends Fold {
  readonly #map = new EntryMap();
  /** The slot of the key of an element; undefined if elements are maps of entries. */
  readonly #keySlot: number | undefined;

  constructor(keySlot: number | undefined) {
    super();
    this.#keySlot = keySlot;
  }

  take(run: Run, value: Value): undefined {
    const inserted = isError(value) ? value : this.#insert(run, value);
    if (isError(inserted)) this.failOnce(inserted);
  }

  #insert(run: Run, value: Value): Value {
    if (this.#keySlot !== undefined) return insertEntry(this.#map, run.slots[this.#keySlot]!, value);
    return value instanceof MapValue ? insertEntries(this.#map, value) : noSuchOverload;
  }

  protected made(): Value {
    return this.#map;
  }
}
