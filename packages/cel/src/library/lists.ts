import { type Parts, spend, spentPart } from '@capstan/machinery';
import { BOOL, BYTES, DOUBLE, DURATION, DYN, INT, listOf, mapOf, parameter, STRING, TIMESTAMP, type Type, UINT } from '../types/type.ts';
import { ArrayList, elementsOf } from '../value/collections.ts';
import { compareValues } from '../value/compare.ts';
import { indexInParts, lastIndexInParts, listContainsInParts } from '../value/equal-in-parts.ts';
import { equalValues, listContains } from '../value/equality.ts';
import type { Int } from '../value/integer.ts';
import { typeNameOf } from '../value/type-name.ts';
import { CelError, Double, Duration, isError, ListValue, noSuchOverload, Uint, type Value } from '../value/value.ts';
import { type FunctionEntry, long, member, type Overload, overload } from './function.ts';
import { insertEntries, insertEntry } from './map-insert.ts';
import { operators } from './operators.ts';

const T = parameter('T');
const listT = listOf(T);

const comparable: readonly (readonly [string, Type])[] = [
  ['int', INT],
  ['uint', UINT],
  ['double', DOUBLE],
  ['bool', BOOL],
  ['duration', DURATION],
  ['timestamp', TIMESTAMP],
  ['string', STRING],
  ['bytes', BYTES],
];

const summable: readonly (readonly [string, Type, Value])[] = [
  ['int', INT, 0],
  ['uint', UINT, new Uint(0n)],
  ['double', DOUBLE, new Double(0)],
  ['duration', DURATION, new Duration(0n)],
];

/** Goes through a list, element by element. */
interface Pass {
  /** Any result but undefined is the outcome. */
  readonly take: (index: number) => Value | undefined;
  /** The outcome after the last element. */
  readonly end: () => Value;
}

type Begin = (list: ListValue) => Pass;

/** A function that goes through its list, at once or in parts. */
function passing(made: (call: (list: ListValue) => Value) => Overload, begin: Begin): Overload {
  const atOnce = (list: ListValue): Value => {
    const { take, end } = begin(list);
    for (let index = 0; index < list.size; index++) {
      const outcome = take(index);
      if (outcome !== undefined) return outcome;
    }
    return end();
  };
  return long(made(atOnce), function* (list: ListValue) {
    const { take, end } = begin(list);
    for (let index = 0; index < list.size; index++) {
      if (spentPart(1)) yield;
      const outcome = take(index);
      if (outcome !== undefined) return outcome;
    }
    return end();
  });
}

const isSorted: Begin = (list) => ({
  take(index) {
    if (index === 0) return undefined;
    const order = compareValues(list.at(index - 1), list.at(index));
    if (typeof order !== 'number') return order;
    return order > 0 ? false : undefined;
  },
  end: () => true,
});

const additions = new Map(operators.find(([name]) => name === '_+_')![1].map((add) => [add.id, add]));
const additionIds = new Map([
  ['int', 'add_int64'],
  ['uint', 'add_uint64'],
  ['double', 'add_double'],
  ['duration', 'add_duration_duration'],
]);

function sum(name: string, zero: Value): Begin {
  const add = additions.get(additionIds.get(name)!)!;
  return (list) => {
    let total = zero;
    return {
      take(index) {
        const element = list.at(index);
        total = isError(element) ? element : add.call(total, element);
        return isError(total) ? total : undefined;
      },
      end: () => total,
    };
  };
}

function extreme(name: 'min' | 'max'): Begin {
  const sign = name === 'min' ? 1 : -1;
  return (list) => {
    let best: Value = new CelError(`${name} called on empty list`);
    return {
      take(index) {
        const element = list.at(index);
        if (index === 0) best = element;
        else {
          const order = compareValues(best, element);
          if (typeof order !== 'number') return order;
          if (order * sign > 0) best = element;
        }
        return undefined;
      },
      end: () => best,
    };
  };
}

function indexOf(list: ListValue, value: Value): number {
  for (let index = 0; index < list.size; index++) if (equalValues(list.at(index), value) === true) return index;
  return -1;
}

function lastIndexOf(list: ListValue, value: Value): number {
  for (let index = list.size - 1; index >= 0; index--) if (equalValues(list.at(index), value) === true) return index;
  return -1;
}

function slice(list: ListValue, start: Int, end: Int): Value {
  if (start < 0 || end < 0) return new CelError(`cannot slice(${start}, ${end}), negative indexes not supported`);
  if (start > end) return new CelError(`cannot slice(${start}, ${end}), start index must be less than or equal to end index`);
  if (list.size < end) return new CelError(`cannot slice(${start}, ${end}), list is length ${list.size}`);
  return new ArrayList(elementsOf(list).slice(Number(start), Number(end)));
}

function flatten(list: ListValue, depth: Int = 1): Value {
  if (depth < 0) return new CelError('level must be non-negative');
  const result: Value[] = [];
  const visit = (inner: ListValue, left: number): void => {
    for (const element of elementsOf(inner)) {
      if (element instanceof ListValue && left > 0) visit(element, left - 1);
      else result.push(element);
    }
  };
  visit(list, Number(depth));
  return new ArrayList(result);
}

/** The elements sorted by their keys; both lists have the same length. */
function sortByKeys(list: ListValue, keys: ListValue): Value {
  if (list.size === 0) return list;
  const values = elementsOf(keys);
  const kind = typeNameOf(values[0]!);
  let failure: CelError | undefined;
  if (values.some((value) => typeNameOf(value) !== kind)) failure = new CelError('list elements must have the same type');
  const order = values.map((_, index) => index);
  order.sort((one, other) => {
    const compared = compareValues(values[one]!, values[other]!);
    if (typeof compared === 'number') return compared;
    failure ??= compared === noSuchOverload ? new CelError('list elements must be comparable') : compared;
    return 0;
  });
  return failure ?? new ArrayList(order.map((index) => list.at(index)));
}

/** More numbers than any cost limit allows; the charge that follows stops the expression. */
const LONGEST_RANGE = 10_000_000;

function range(size: Int): Value {
  spend(Math.max(0, Number(size)));
  if (size > LONGEST_RANGE) return new CelError(`lists.range(${size}) is too long`);
  return new ArrayList(Array.from({ length: Math.max(0, Number(size)) }, (_, index) => index));
}

function distinct(list: ListValue): Value {
  const unique: Value[] = [];
  const seen = new Set<Value>();
  for (const element of elementsOf(list)) {
    if (typeof element === 'string' || typeof element === 'number' || typeof element === 'boolean') {
      if (seen.has(element)) continue;
      seen.add(element);
    }
    if (!unique.some((other) => equalValues(other, element) === true)) unique.push(element);
  }
  return new ArrayList(unique);
}

function containsAll(list: ListValue, part: ListValue): boolean {
  return elementsOf(part).every((element) => listContains(list, element));
}

function* containsAllInParts(list: ListValue, part: ListValue): Parts<boolean> {
  for (const element of elementsOf(part)) if (!(yield* listContainsInParts(list, element))) return false;
  return true;
}

function intersects(one: ListValue, other: ListValue): boolean {
  return elementsOf(one).some((element) => listContains(other, element));
}

function* intersectsInParts(one: ListValue, other: ListValue): Parts<boolean> {
  for (const element of elementsOf(one)) if (yield* listContainsInParts(other, element)) return true;
  return false;
}

const forComparable = (make: (name: string, type: Type) => Overload): Overload[] => comparable.map(([name, type]) => make(name, type));

/** The type's name in the overload ids of cel-go's list library. */
function idOf(name: string): string {
  return name === 'duration' || name === 'timestamp' ? `google.protobuf.${name[0]!.toUpperCase()}${name.slice(1)}` : name;
}

const K = parameter('K');
const V = parameter('V');

export const lists: readonly FunctionEntry[] = [
  [
    'isSorted',
    forComparable((name, type) => passing((call) => member(`list_${name}_is_sorted_bool`, [listOf(type)], BOOL, call), isSorted)),
  ],
  [
    'sum',
    summable.map(([name, type, zero]) =>
      passing((call) => member(`list_${name}_sum_${name}`, [listOf(type)], type, call), sum(name, zero)),
    ),
  ],
  ['max', forComparable((name, type) => passing((call) => member(`list_${name}_max_${name}`, [listOf(type)], type, call), extreme('max')))],
  ['min', forComparable((name, type) => passing((call) => member(`list_${name}_min_${name}`, [listOf(type)], type, call), extreme('min')))],
  ['indexOf', [long(member('list_a_index_of_int', [listT, T], INT, indexOf), indexInParts)]],
  ['lastIndexOf', [long(member('list_a_last_index_of_int', [listT, T], INT, lastIndexOf), lastIndexInParts)]],
  ['sets.contains', [long(overload('list_sets_contains_list', [listT, listT], BOOL, containsAll), containsAllInParts)]],
  [
    'sets.equivalent',
    [
      long(
        overload(
          'list_sets_equivalent_list',
          [listT, listT],
          BOOL,
          (one: ListValue, other: ListValue) => containsAll(one, other) && containsAll(other, one),
        ),
        function* (one: ListValue, other: ListValue) {
          return (yield* containsAllInParts(one, other)) && (yield* containsAllInParts(other, one));
        },
      ),
    ],
  ],
  ['sets.intersects', [long(overload('list_sets_intersects_list', [listT, listT], BOOL, intersects), intersectsInParts)]],
  [
    'cel.@mapInsert',
    [
      overload('@mapInsert_map_key_value', [mapOf(K, V), K, V], mapOf(K, V), insertEntry),
      overload('@mapInsert_map_map', [mapOf(K, V), mapOf(K, V)], mapOf(K, V), insertEntries),
    ],
  ],
];

/** cel-go's own list functions, new in Kubernetes 1.34. */
export const newestLists: readonly FunctionEntry[] = [
  ['slice', [member('list_slice', [listT, INT, INT], listT, slice)]],
  [
    'flatten',
    [member('list_flatten', [listOf(listT)], listT, flatten), member('list_flatten_int', [listOf(DYN), INT], listOf(DYN), flatten)],
  ],
  [
    'sort',
    forComparable((name, type) =>
      member(`list_${idOf(name)}_sort`, [listOf(type)], listOf(type), (list: ListValue) => sortByKeys(list, list)),
    ),
  ],
  [
    '@sortByAssociatedKeys',
    forComparable((name, type) => member(`list_${idOf(name)}_sortByAssociatedKeys`, [listT, listOf(type)], listT, sortByKeys)),
  ],
  ['lists.range', [overload('lists_range', [INT], listOf(INT), range)]],
  ['reverse', [member('list_reverse', [listT], listT, (list: ListValue) => new ArrayList(elementsOf(list).toReversed()))]],
  ['distinct', [member('list_distinct', [listT], listT, distinct)]],
];
