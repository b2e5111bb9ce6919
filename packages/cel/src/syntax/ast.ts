import type { Overload } from '../library/function.ts';
import type { Type } from '../types/type.ts';
import type { Value } from '../value/value.ts';
import type { FoldKind } from './fold.ts';

interface Node {
  /** Offset in the source (UTF-16 units) at which errors about this node are reported. */
  readonly position: number;
  /** Set by the checker. */
  type?: Type;
}

export interface Literal extends Node {
  readonly kind: 'literal';
  readonly value: Value;
}

export interface Identifier extends Node {
  readonly kind: 'identifier';
  readonly name: string;
}

/** `operand.field`, or `has(operand.field)` if `test` is set. */
export interface Select extends Node {
  readonly kind: 'select';
  readonly operand: Expression;
  readonly field: string;
  readonly test: boolean;
  /** The name of the variable or type to which the whole path `a.b.c` refers, if the checker finds one. */
  qualified?: string;
}

/** A function, method or operator. `&&` and `||` take any number of arguments, so that long chains stay flat. */
export interface Call extends Node {
  readonly kind: 'call';
  readonly name: string;
  readonly target: Expression | undefined;
  readonly args: readonly Expression[];
  /** The checker's choice; several if the argument types are known only at run time. */
  overloads?: readonly Overload[];
  /** The full name of a namespaced function such as `ip.isCanonical`, whose prefix is not an operand. */
  qualified?: string;
}

export interface ListLiteral extends Node {
  readonly kind: 'list';
  readonly elements: readonly Expression[];
  /** Indexes of elements written as `[?x]`. */
  readonly optional: ReadonlySet<number>;
}

export interface MapEntry {
  readonly position: number;
  readonly key: Expression;
  readonly value: Expression;
  readonly optional: boolean;
}

export interface MapLiteral extends Node {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}

export interface StructField {
  readonly position: number;
  readonly name: string;
  readonly value: Expression;
  readonly optional: boolean;
}

export interface StructLiteral extends Node {
  readonly kind: 'struct';
  readonly name: string;
  readonly fields: readonly StructField[];
}

/**
 * A loop to which macros expand. `initial`, `condition`, `step` and `result` define it in full, for the checker and the cost estimate;
 * `fold` records its purpose, so that the evaluator can run it without building intermediate lists.
 */
export interface Comprehension extends Node {
  readonly kind: 'comprehension';
  readonly fold: FoldKind;
  readonly range: Expression;
  readonly variable: string;
  readonly secondVariable: string | undefined;
  readonly accumulator: string;
  readonly initial: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
}

export type Expression = Literal | Identifier | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension;
