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
 * The content of a variable, field or element: its type for the checker, the conversion from JSON, and the size limit for the cost
 * estimate.
 */
export interface Declaration {
  readonly type: Type;
  /** Converts a JSON value; a value of the wrong type becomes an error value. */
  readonly read: (json: Json) => Value;
  /** The maximum number of characters, items or entries. */
  readonly maximumSize: number;
  /** The minimum size of a value as JSON, in bytes. */
  readonly minimumBytes: number;
  readonly fields?: ObjectFields;
  /** Whether the fields may be computed when they are first read. */
  readonly isLazy?: boolean;
  readonly key?: Declaration;
  readonly element?: Declaration;
}
