import { BOOL, INT, listOf, mapOf, optionalOf, parameter } from '../types/type.ts';
import { ArrayList, elementsOf } from '../value/collections.ts';
import { StructValue } from '../value/struct.ts';
import { CelError, Double, Duration, isError, ListValue, MapValue, Optional, Uint, type Value } from '../value/value.ts';
import { type FunctionEntry, member, overload } from './function.ts';
import { elementAt } from './operators.ts';

const V = parameter('V');
const K = parameter('K');
const optionalV = optionalOf(V);

function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0 || value === '') return true;
  if (value instanceof ListValue || value instanceof MapValue) return value.size === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Double) return value.value === 0;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof StructValue) return value.fields.size === 0 && value.typeName !== 'JSONPatch';
  return value instanceof Duration && value.nanoseconds === 0n;
}

function present(value: Value | undefined): Optional {
  return value === undefined ? Optional.none : new Optional(value);
}

function content({ value }: Optional): Value {
  return value === undefined ? new CelError('optional.none() dereference') : value;
}

/** The evaluator handles this itself, so that the alternative is evaluated only if needed. */
function alternative(one: Optional, other: Value): Value {
  return one.value === undefined ? other : one;
}

function unwrap(list: ListValue): Value {
  const values: Value[] = [];
  for (const element of elementsOf(list)) if (element instanceof Optional && element.value !== undefined) values.push(element.value);
  return new ArrayList(values);
}

/** `container[?key]`: optional.none instead of an error if there is no such element. */
export function optionalElement(container: Value, key: Value): Value {
  if (container instanceof Optional) return container.value === undefined ? container : optionalElement(container.value, key);
  if (container instanceof ListValue) {
    const element = elementAt(container, key);
    return isError(element) && element.message.startsWith('index out of bounds') ? Optional.none : wrap(element);
  }
  if (container instanceof MapValue) return wrapFound(container.find(key));
  if (container instanceof StructValue && typeof key === 'string') return wrapFound(container.fields.get(key));
  return new CelError('no such overload');
}

function wrap(value: Value): Value {
  return isError(value) ? value : new Optional(value);
}

function wrapFound(value: Value | undefined): Value {
  return value === undefined ? Optional.none : wrap(value);
}

export const optional: readonly FunctionEntry[] = [
  ['optional.of', [overload('optional_of', [V], optionalV, (value: Value) => new Optional(value))]],
  [
    'optional.ofNonZeroValue',
    [overload('optional_ofNonZeroValue', [V], optionalV, (value: Value) => (isZero(value) ? Optional.none : new Optional(value)))],
  ],
  ['optional.none', [overload('optional_none', [], optionalV, () => Optional.none)]],
  ['hasValue', [member('optional_hasValue', [optionalV], BOOL, (value: Optional) => value.value !== undefined)]],
  ['value', [member('optional_value', [optionalV], V, content)]],
  ['or', [member('optional_or_optional', [optionalV, optionalV], optionalV, alternative)]],
  ['orValue', [member('optional_orValue_value', [optionalV, V], V, (one: Optional, other: Value) => one.value ?? other)]],
  [
    '_[?_]',
    [
      overload('list_optindex_optional_int', [listOf(V), INT], optionalV, optionalElement),
      overload('optional_list_optindex_optional_int', [optionalOf(listOf(V)), INT], optionalV, optionalElement),
      overload('map_optindex_optional_value', [mapOf(K, V), K], optionalV, optionalElement),
      overload('optional_map_optindex_optional_value', [optionalOf(mapOf(K, V)), K], optionalV, optionalElement),
    ],
  ],
  [
    '_[_]',
    [
      overload('optional_list_index_int', [optionalOf(listOf(V)), INT], optionalV, optionalElement),
      overload('optional_map_index_value', [optionalOf(mapOf(K, V)), K], optionalV, optionalElement),
    ],
  ],
  ['first', [member('list_first', [listOf(V)], optionalV, (list: ListValue) => present(list.size === 0 ? undefined : list.at(0)))]],
  [
    'last',
    [member('list_last', [listOf(V)], optionalV, (list: ListValue) => present(list.size === 0 ? undefined : list.at(list.size - 1)))],
  ],
  ['optional.unwrap', [overload('optional_unwrap', [listOf(optionalV)], listOf(V), unwrap)]],
  ['unwrapOpt', [member('optional_unwrapOpt', [listOf(optionalV)], listOf(V), unwrap)]],
];
