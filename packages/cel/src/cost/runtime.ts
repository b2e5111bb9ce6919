import { type Parts, spend, spentPart } from '@capstan/machinery';
import { countCharacters } from '../syntax/source.ts';
import { ListValue, MapValue, OpaqueValue, Optional, type Value } from '../value/value.ts';
import { AUTHORIZATION, LIST_COST, PATTERN, STRUCT_COST, TRAVERSAL } from './constants.ts';

/** The cost of a call, from its arguments and its result. */
export type CallCost = (args: readonly Value[], overload: string, result: Value) => number;

/** The size that determines costs: characters, elements or entries; 1 for all other values. */
function sizeOf(value: Value | undefined): number {
  if (typeof value === 'string') return countCharacters(value);
  if (value instanceof ListValue || value instanceof MapValue) return value.size;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Optional && value.value !== undefined) return sizeOf(value.value);
  if (value instanceof OpaqueValue && 'size' in value) return value.size as number;
  return 1;
}

/** The cost of traversing the content of a value. */
function traversal(value: Value): number {
  spend(1);
  if (typeof value === 'string') return Math.trunc(Buffer.byteLength(value) * TRAVERSAL);
  if (value instanceof Uint8Array) return Math.trunc(value.length * TRAVERSAL);
  let cost = 0;
  if (value instanceof ListValue) {
    for (let index = 0; index < value.size; index++) cost += traversal(value.at(index));
    return cost;
  }
  if (value instanceof MapValue) {
    for (const key of value.keys()) cost += traversal(key) + traversal(value.find(key)!);
    return cost;
  }
  return 1;
}

/** The same in parts. */
function* traversalInParts(value: Value): Parts<number> {
  if (!(value instanceof ListValue) && !(value instanceof MapValue)) return traversal(value);
  spend(1);
  let cost = 0;
  for (const part of partsOfContainer(value)) {
    if (spentPart(1)) yield;
    cost += part instanceof ListValue || part instanceof MapValue ? yield* traversalInParts(part) : traversal(part);
  }
  return cost;
}

function* partsOfContainer(value: ListValue | MapValue): Iterable<Value> {
  if (value instanceof ListValue) for (let index = 0; index < value.size; index++) yield value.at(index);
  else {
    for (const key of value.keys()) {
      yield key;
      yield value.find(key)!;
    }
  }
}

const ofText =
  (factor: number): CallCost =>
  ([text]) =>
    Math.ceil(sizeOf(text) * factor * TRAVERSAL);

const pattern: CallCost = ([text, regex]) => Math.ceil((1 + sizeOf(text)) * TRAVERSAL) * Math.ceil(sizeOf(regex) * PATTERN);

const comparison: CallCost = ([left, right]) => {
  if (left instanceof OpaqueValue) return 1;
  return Math.ceil(Math.min(sizeOf(left), sizeOf(right)) * TRAVERSAL);
};

/** Comparisons traverse strings and bytes; for other values they cost one. */
const ordering: CallCost = (args, overload, result) => {
  const [left] = args;
  return typeof left === 'string' || left instanceof Uint8Array ? comparison(args, overload, result) : 1;
};

const addition: CallCost = ([left, right]) =>
  typeof left === 'string' || left instanceof Uint8Array ? Math.ceil((sizeOf(left) + sizeOf(right)) * TRAVERSAL) : 1;

const selector: CallCost = ([, text]) => {
  const size = sizeOf(text);
  return LIST_COST + Math.ceil(size * TRAVERSAL) + Math.ceil(Math.ceil(size * 0.5) * (LIST_COST + STRUCT_COST));
};

const containment =
  (kind: 'ip' | 'cidr'): CallCost =>
  ([cidr, other], overload) => {
    const size = sizeOf(cidr);
    const masks = kind === 'cidr' ? Math.ceil(size * TRAVERSAL) + 1 : 0;
    const parsing = overload.endsWith('_string') ? Math.ceil(sizeOf(other) * TRAVERSAL) : 0;
    return Math.ceil(2 * size * TRAVERSAL) + masks + parsing;
  };

const listSize: CallCost = (_args, _overload, result) => Math.trunc(sizeOf(result)) + 1 + LIST_COST;

const selfComparison = (list: Value | undefined): number => {
  const size = sizeOf(list);
  const first = list instanceof ListValue && size > 0 ? list.at(0) : undefined;
  const factor = typeof first === 'string' || first instanceof Uint8Array ? 2 + TRAVERSAL : 2;
  return Math.trunc(size * size * factor) + 1 + LIST_COST;
};

const sets =
  (factor: number): CallCost =>
  ([left, right]) =>
    1 + Math.trunc(sizeOf(left) * sizeOf(right) * factor);

const traversing = 'isSorted sum max min indexOf lastIndexOf';

const named: readonly (readonly [names: string, cost: CallCost])[] = [
  ['check', () => AUTHORIZATION],
  ['fieldSelector labelSelector', selector],
  [traversing, ([list]) => traversal(list!)],
  ['url lowerAscii upperAscii substring trim jsonpatch.escapeKey cidr isIP isCIDR quantity isQuantity semver isSemver', ofText(1)],
  ['replace split ip.isCanonical', ofText(2)],
  ['join', (_args, _overload, result) => Math.ceil(sizeOf(result) * 2 * TRAVERSAL)],
  ['find findAll', pattern],
  ['matches', (args, overload, result) => (overload === 'matches_string' ? pattern(args, overload, result) : 1)],
  ['ip', (args, overload, result) => (overload === 'cidr_ip' ? 1 : ofText(1)(args, overload, result))],
  ['containsIP', containment('ip')],
  ['containsCIDR', containment('cidr')],
  ['validate', ([format, text]) => Math.ceil((1 + sizeOf(text)) * TRAVERSAL) * Math.ceil(patternSize(format!) * PATTERN)],
  ['startsWith endsWith format strings.quote', ofText(1)],
  ['bytes', (args, overload, result) => (overload === 'string_to_bytes' ? ofText(1)(args, overload, result) : 1)],
  ['string', (args, overload, result) => (overload === 'bytes_to_string' ? ofText(1)(args, overload, result) : 1)],
  ['@in', ([, list], overload) => (overload === 'in_list' ? sizeOf(list) : 1)],
  ['_<_ _<=_ _>_ _>=_', ordering],
  ['_==_ _!=_', comparison],
  ['_+_', addition],
  ['contains', ([text, part]) => Math.ceil(sizeOf(text) * TRAVERSAL) * Math.ceil(sizeOf(part) * TRAVERSAL)],
  ['slice lists.range reverse', listSize],
  ['flatten', ([list, depth]) => Math.trunc(sizeOf(list) * Number(depth ?? 1)) + 1 + LIST_COST],
  ['distinct sort', ([list]) => selfComparison(list)],
  ['@sortByAssociatedKeys', ([, keys]) => selfComparison(keys)],
  ['sets.contains sets.intersects', sets(1)],
  ['sets.equivalent', sets(2)],
];

function patternSize(format: Value): number {
  return typeof format === 'object' && format !== null && 'patternSize' in format ? (format.patternSize as number) : 1;
}

const costs = new Map<string, CallCost>(named.flatMap(([names, cost]) => names.split(' ').map((name) => [name, cost] as const)));

/** The cost function for calls of a function; undefined for calls that always cost one. */
export function callCost(name: string): CallCost | undefined {
  return costs.get(name);
}

const traversed = new Set(traversing.split(' '));

/** The same in parts; undefined if computing the cost never takes long. */
export function callCostInParts(name: string): ((args: readonly Value[]) => Parts<number>) | undefined {
  return traversed.has(name) ? ([list]) => traversalInParts(list!) : undefined;
}
