import type { Parts } from '@capstan/machinery';
import { parametersOf, type Type } from '../types/type.ts';
import { JsonMap } from '../value/json.ts';
import { typeNameOf } from '../value/type-name.ts';
import { ListValue, MapValue, OpaqueValue, Optional, type Value } from '../value/value.ts';

/** One overload of a function: its parameter and result types, and its implementation. Arguments are never errors. */
export interface Overload {
  readonly id: string;
  readonly isMember: boolean;
  /** The receiver comes first. */
  readonly parameters: readonly Type[];
  readonly result: Type;
  /** The type variables in the parameters and the result. */
  readonly variables: readonly string[];
  readonly call: (...args: Value[]) => Value;
  /** Does the same in parts; undefined if it never takes long. */
  readonly inParts?: (...args: Value[]) => Parts<Value>;
}

export type FunctionTable = ReadonlyMap<string, readonly Overload[]>;

/** A function's name, with its overloads in the order in which the checker tries them. */
export type FunctionEntry = readonly [name: string, overloads: readonly Overload[]];

/** An implementation, whose parameter types the signature guarantees. */
type Implementation = (...args: never[]) => Value;

export function overload(id: string, parameters: readonly Type[], result: Type, call: Implementation): Overload {
  return make({ id, isMember: false, parameters, result, call });
}

export function member(id: string, parameters: readonly Type[], result: Type, call: Implementation): Overload {
  return make({ id, isMember: true, parameters, result, call });
}

/** An overload that may take long. */
export function long(made: Overload, inParts: (...args: never[]) => Parts<Value>): Overload {
  return { ...made, inParts: inParts as NonNullable<Overload['inParts']> };
}

function make(parts: Omit<Overload, 'variables' | 'call'> & { call: Implementation }): Overload {
  const variables = new Set<string>();
  for (const type of [...parts.parameters, parts.result]) collectVariables(type, variables);
  return { ...parts, call: parts.call as Overload['call'], variables: [...variables] };
}

function collectVariables(type: Type, into: Set<string>): void {
  if (type.kind === 'parameter') into.add(type.name);
  for (const part of parametersOf(type)) collectVariables(part, into);
}

/** Combines libraries; functions of the same name share one list of overloads. */
export function functionTable(libraries: readonly (readonly FunctionEntry[])[]): FunctionTable {
  const table = new Map<string, Overload[]>();
  for (const [name, overloads] of libraries.flat()) {
    const existing = table.get(name);
    if (existing === undefined) table.set(name, [...overloads]);
    else existing.push(...overloads);
  }
  return table;
}

/** Whether a value can be passed for a parameter, as far as that is known at run time. */
export function accepts(type: Type, value: Value): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'parameter':
      return true;
    case 'list':
      return value instanceof ListValue;
    case 'map':
      return value instanceof MapValue;
    case 'object':
      return value instanceof OpaqueValue ? value.typeName === type.name : value instanceof JsonMap;
    case 'opaque':
      return value instanceof Optional ? type.name === 'optional_type' : value instanceof OpaqueValue && value.typeName === type.name;
    default:
      return typeNameOf(value) === runtimeName(type.kind);
  }
}

function runtimeName(kind: string): string {
  if (kind === 'timestamp') return 'google.protobuf.Timestamp';
  if (kind === 'duration') return 'google.protobuf.Duration';
  return kind === 'null' ? 'null_type' : kind;
}
