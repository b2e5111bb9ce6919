import { goTypeName, printValue } from '../apply/go-text.ts';
import { jsonEqual, own } from '../apply/shape.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import type { PatchRule } from '../schema/type.ts';
import { directiveKey, plain } from './directives.ts';
import { cannotApply, serverError } from './errors.ts';
import { withoutNulls } from './merge-patch.ts';

export interface PatchList {
  readonly rule: PatchRule;
  /** Merges an item of the patch into the live item with the same key. */
  readonly mergeItem: (live: JsonObject, change: JsonObject) => JsonObject;
  /** The patch lists the items to delete. */
  readonly deletes?: boolean;
}

/** Merges a list into the live one by its merge key, or as a set if its items are plain values. */
export function mergeItems(live: Json[], change: Json[], list: PatchList): Json[] {
  if (live.length === 0 && change.length === 0) return live;
  if (itemKind(live, change) !== 'map') {
    if (list.deletes) return live.filter((item) => !change.includes(item));
    return inOrder([...new Set([...live, ...change])], { order: change, serverOrder: live, key: undefined });
  }
  const key = list.rule.mergeKey;
  if (key === undefined || key === '') throw serverError(`cannot merge lists of maps without merge key`);
  const { original, changes } = bySpecialItems(live, change as JsonObject[], key);
  const merged = [...original];
  for (const item of changes) {
    const value = keyOf(item, key);
    const index = indexOfKey(merged, key, value);
    if (index >= 0) merged[index] = list.mergeItem(merged[index] as JsonObject, item);
    else merged.push(withoutNulls(item));
  }
  return inOrder(merged, { order: changes, serverOrder: original, key });
}

/** The kind of all items; mixed lists and lists of lists cannot be merged. */
function itemKind(...lists: Json[][]): 'map' | 'plain' {
  let first: string | undefined;
  for (const item of lists.flat(1)) {
    if (first === undefined) {
      if (Array.isArray(item)) throw cannotApply();
      first = goTypeName(item);
    } else if (first !== goTypeName(item)) {
      throw serverError(`list element types are not identical: ${printValue(lists)}`);
    }
  }
  if (first === undefined) throw serverError('no elements in any of the given slices');
  return first.startsWith('map') ? 'map' : 'plain';
}

function keyOf(item: Json, key: string): Json {
  const value = isObject(item) ? own(item, key) : undefined;
  if (value === undefined) throw serverError(`map: ${printValue(item)} does not contain declared merge key: ${key}`);
  return value;
}

function indexOfKey(list: readonly Json[], key: string, value: Json): number {
  return list.findIndex((item, index) => {
    if (!isObject(item)) throw serverError(`value for key ${index} is not a map`);
    const other = own(item, key);
    return other !== undefined && jsonEqual(other, value);
  });
}

/** Executes the items with a directive; returns the resulting list and the other items. */
function bySpecialItems(live: Json[], change: readonly JsonObject[], key: string): { original: Json[]; changes: JsonObject[] } {
  let original = [...live];
  let replaces = false;
  const changes: JsonObject[] = [];
  for (const item of change) {
    const directive = own(item, directiveKey);
    if (directive === undefined) {
      changes.push(item);
    } else if (directive === 'delete') {
      const value = keyOf(item, key);
      original = original.filter((other) => !jsonEqual(isObject(other) ? own(other, key) : undefined, value));
    } else if (directive === 'replace') {
      replaces = true;
    } else if (directive === 'merge') {
      throw serverError('merging lists cannot yet be specified in the patch');
    } else {
      throw serverError(`unknown patch type: ${printValue(directive)} in map: ${printValue(item)}`);
    }
  }
  return replaces ? { original: changes, changes: [] } : { original, changes };
}

interface Ordering {
  readonly order: readonly Json[];
  readonly serverOrder: readonly Json[];
  /** Undefined for plain values. */
  readonly key: string | undefined;
}

function position(list: readonly Json[], item: Json, key: string | undefined): number {
  if (key === undefined) return list.indexOf(item);
  const value = isObject(item) ? own(item, key) : undefined;
  return list.findIndex((other) => isObject(other) && jsonEqual(own(other, key), value));
}

/** The patch's items in its order, the others in theirs, interleaved as in the live list where possible. */
function inOrder(items: readonly Json[], { order, serverOrder, key }: Ordering): Json[] {
  if (key !== undefined) for (const item of [...items, ...order]) keyOf(item, key);
  const place = (list: readonly Json[], item: Json): number => {
    const index = position(list, item, key);
    return index < 0 ? list.length : index;
  };
  const byOrder = (list: readonly Json[]) => (left: Json, right: Json) => place(list, left) - place(list, right);
  const patched = items.filter((item) => position(order, item, key) >= 0).sort(byOrder(order));
  const others = items.filter((item) => position(order, item, key) < 0).sort(byOrder(serverOrder));
  const result: Json[] = [];
  let left = 0;
  let right = 0;
  while (left < others.length || right < patched.length) {
    const other = others[left];
    const mine = patched[right];
    const takeOther = right >= patched.length || (left < others.length && comesFirst(serverOrder, { first: other!, second: mine!, key }));
    result.push(takeOther ? others[left++]! : patched[right++]!);
  }
  return result;
}

function comesFirst(list: readonly Json[], { first, second, key }: { first: Json; second: Json; key: string | undefined }): boolean {
  const left = position(list, first, key);
  const right = position(list, second, key);
  return left >= 0 && right >= 0 && left < right;
}

interface OrderedMerge {
  readonly live: Json[] | undefined;
  readonly change: Json[] | undefined;
  /** The value of `$setElementOrder`. */
  readonly order: Json[];
  readonly list: PatchList;
}

/** Merges a list that comes with an order for its items. Undefined if there is no such list. */
export function orderedItems({ live, change, order, list }: OrderedMerge): Json[] | undefined {
  const key = list.rule.mergeKey || undefined;
  checkOrder(change ?? [], order, key);
  if (live === undefined && change === undefined) return undefined;
  const merged = mergedForOrder(live, change, list);
  itemKind(live ?? [], change ?? []);
  return inOrder(merged, { order, serverOrder: live ?? [], key });
}

function mergedForOrder(live: Json[] | undefined, change: Json[] | undefined, list: PatchList): Json[] {
  if (change === undefined) return live!;
  if (live === undefined) return plain(change) as Json[];
  return list.rule.merge ? mergeItems(live, change, list) : change;
}

/** The patch must agree with its own order: its items must be in it, in the same sequence. */
function checkOrder(change: readonly Json[], order: readonly Json[], key: string | undefined): void {
  if (change.length === 0 || order.length === 0) return;
  const items = key === undefined ? change : change.filter((item) => !isObject(item) || !Object.hasOwn(item, directiveKey));
  let next = 0;
  for (const item of order) {
    if (next === items.length) break;
    const same = key === undefined ? items[next] === item : jsonEqual(keyOf(items[next]!, key), keyOf(item, key));
    if (same) next++;
  }
  if (next === items.length) return;
  throw serverError(
    `The order in patch list:\n${printValue([...change])}\n doesn't match $setElementOrder list:\n${printValue([...order])}\n`,
  );
}
