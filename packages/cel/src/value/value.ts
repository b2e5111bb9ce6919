/** A value in an expression. Integers are numbers as long as they are safe, and bigints beyond. */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Double
  | Uint
  | Duration
  | Timestamp
  | TypeValue
  | Optional
  | ListValue
  | MapValue
  | OpaqueValue
  | CelError;

export class Double {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

export class Duration {
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

export class Timestamp {
  /** Since 1970; negative before. */
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

export class TypeValue {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

export class Optional {
  static readonly none = new Optional(undefined);
  readonly value: Value | undefined;
  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** The outcome of a failed operation; operators propagate it, and `&&` and `||` may absorb it. */
export class CelError {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

export const noSuchOverload = new CelError('no such overload');

export abstract class ListValue {
  abstract readonly size: number;
  /** The element at an index from 0 to size - 1. */
  abstract at(index: number): Value;

  /** Pairs its elements with those of another list, in their order unless the list is unordered; a boolean if equality is known already. */
  abstract pairs(other: ListValue): Pairs | boolean;
  abstract concatenate(other: ListValue): ListValue;
}

export abstract class MapValue {
  abstract readonly size: number;
  /** The value of a key; undefined if there is none. */
  abstract find(key: Value): Value | undefined;
  abstract keys(): Value[];
  abstract pairs(other: MapValue): Pairs | boolean;
}

/** The pairs of values that two lists or maps consist of. They are equal if all pairs are, and nothing else differs. */
export abstract class Pairs {
  left: Value | undefined;
  right: Value | undefined;
  /** Known when there is no further pair: whether nothing else differs. */
  areEqual = true;

  /** Goes on to the next pair; false if there is none. Both sides are undefined where nothing is left to compare. */
  abstract next(): boolean;

  protected take(left: Value | undefined, right: Value | undefined): true {
    this.left = left;
    this.right = right;
    return true;
  }

  protected differ(): false {
    this.areEqual = false;
    return false;
  }
}

/** A value of a type that only has methods, such as a quantity or an IP address. */
export abstract class OpaqueValue {
  abstract readonly typeName: string;
  abstract equals(other: OpaqueValue): boolean;
}

export function isError(value: Value): value is CelError {
  return value instanceof CelError;
}
