import type { Json } from '@capstan/machinery';
import type { Value } from '../value/value.ts';
import type { Type } from './type.ts';

export interface ObjectField {
  /** The name of the property in JSON. */
  readonly property: string;
  readonly declaration: Declaration;
}

/** By the escaped name that expressions use. */
export type ObjectFields = ReadonlyMap<string, ObjectField>;

/**
 * What a variable, a field or an element may hold: its type for the checker, how its JSON becomes a value, and how large it may be for the
 * cost estimate.
 */
export interface Declaration {
  readonly type: Type;
  /** Reads a JSON value; a value that does not fit becomes an error value. */
  readonly read: (json: Json) => Value;
  /** The most characters, items or entries there may be. */
  readonly maximumSize: number;
  /** The fewest bytes that a value takes as JSON. */
  readonly minimumBytes: number;
  readonly fields?: ObjectFields;
  readonly key?: Declaration;
  readonly element?: Declaration;
}
