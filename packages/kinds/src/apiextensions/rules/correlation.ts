import { isObject, isUnchanged, type Json, oldItems, type Schema } from '@capstan/machinery';

/** A value, the old value it replaces, and their schema. */
interface Pair {
  readonly value: Json;
  readonly old: Json;
  readonly schema: Schema;
}

/**
 * Tracks a value and its old value while descending into an object. Where the old value cannot be determined, such as in a list without
 * keys, the nearest ancestor that has one decides for everything below it.
 */
export class Correlation {
  /** There is no old value. */
  static readonly none = new Correlation(undefined, undefined);
  readonly #current: Pair | undefined;
  readonly #above: Pair | undefined;

  private constructor(current: Pair | undefined, above: Pair | undefined) {
    this.#current = current;
    this.#above = above;
  }

  static of(value: Json, old: Json, schema: Schema): Correlation {
    return new Correlation({ value, old, schema }, undefined);
  }

  /** True if the value did not change, so that any error in it existed before. */
  get isUnchanged(): boolean {
    const pair = this.#current ?? this.#above;
    return pair !== undefined && isUnchanged(pair.value, pair.old, pair.schema);
  }

  key(name: string): Correlation {
    const current = this.#current;
    if (current === undefined) return this;
    // The old object was converted to the same version, so equal `apiVersion` and `kind` do not count as unchanged.
    if (this.#above === undefined && (name === 'apiVersion' || name === 'kind')) return Correlation.none;
    const { value, old, schema } = current;
    const property = schema.properties.get(name) ?? schema.additional?.schema;
    if (!isObject(value) || !isObject(old) || !Object.hasOwn(old, name) || property === undefined)
      return new Correlation(undefined, current);
    return new Correlation({ value: value[name]!, old: old[name]!, schema: property }, current);
  }

  item(value: Json): Correlation {
    const current = this.#current;
    if (current === undefined) return this;
    const before = oldItems(current.old, current.schema)(value);
    const { items } = current.schema;
    return new Correlation(before === undefined || items === undefined ? undefined : { value, old: before, schema: items }, current);
  }
}
