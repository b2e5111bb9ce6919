import type { FunctionTable } from '../library/function.ts';
import type { Declaration } from '../types/declaration.ts';
import type { StructTypes } from '../types/patch-types.ts';
import * as types from '../types/type.ts';

/** The names that an expression may refer to. */
export interface Environment {
  readonly variables: ReadonlyMap<string, Declaration>;
  readonly functions: FunctionTable;
  /** Types that expressions may name, such as `string` in `type(x) == string`. */
  readonly typeNames: ReadonlyMap<string, types.Type>;
  /** Object types that `Name{field: value}` may create. */
  readonly structs: StructTypes;
}

export const standardTypeNames: ReadonlyMap<string, types.Type> = new Map<string, types.Type>([
  ['bool', types.BOOL],
  ['int', types.INT],
  ['uint', types.UINT],
  ['double', types.DOUBLE],
  ['string', types.STRING],
  ['bytes', types.BYTES],
  ['list', types.listOf(types.DYN)],
  ['map', types.mapOf(types.DYN, types.DYN)],
  ['null_type', types.NULL],
  ['type', types.typeOf(undefined)],
  ['google.protobuf.Timestamp', types.TIMESTAMP],
  ['google.protobuf.Duration', types.DURATION],
  ['optional_type', types.optionalOf(types.parameter('V'))],
]);
