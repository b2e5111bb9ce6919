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
    const gone = new Set(list.deletes ? change : []);
    if (list.deletes) return live.filter((item) => !gone.has(item));
    return inOrder([...new Set([...live, ...change])], { order: change, serverOrder: live, key: undefined });
  }
  const key = list.rule.mergeKey;
  if (key === undefined || key === '') throw serverError(`cannot merge lists of maps without merge key`);
  const { original, changes } = bySpecialItems(live, change as JsonObject[], key);
  const merged = [...original];
  const indexes = positionsIn(merged, key);
  for (const item of changes) {
    const value = identityOf(keyOf(item, key));
    const index = indexes.get(value);
    if (index !== undefined) merged[index] = list.mergeItem(merged[index] as JsonObject, item);
    else indexes.set(value, merged.push(withoutNulls(item)) - 1);
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

/** Where each item is first, by the identity of its key, or by its own if there is no key. Lists may have many thousands of items. */
function positionsIn(list: readonly Json[], key: string | undefined): Map<string, number> {
  const positions = new Map<string, number>();
  for (const [index, item] of list.entries()) {
    const identity = itemIdentity(item, key);
    if (identity !== undefined && !positions.has(identity)) positions.set(identity, index);
  }
  return positions;
}

function itemIdentity(item: Json, key: string | undefined): string | undefined {
  if (key === undefined) return identityOf(item);
  const value = isObject(item) ? own(item, key) : undefined;
  return value === undefined ? undefined : identityOf(value);
}

/** The same text for equal values, and for no others. */
function identityOf(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(identityOf).join()}]`;
  if (isObject(value)) {
    const keys = Object.keys(value).sort();
    return `{${keys.map((name) => `${JSON.stringify(name)}:${identityOf(value[name]!)}`).join()}}`;
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** Executes the items with a directive; returns the resulting list and the other items. */
function bySpecialItems(live: Json[], change: readonly JsonObject[], key: string): { original: Json[]; changes: JsonObject[] } {
  const deleted = new Set<string>();
  let replaces = false;
  const changes: JsonObject[] = [];
  for (const item of change) {
    const directive = own(item, directiveKey);
    if (directive === undefined) {
      changes.push(item);
    } else if (directive === 'delete') {
      deleted.add(identityOf(keyOf(item, key)));
    } else if (directive === 'replace') {
      replaces = true;
    } else if (directive === 'merge') {
      throw serverError('merging lists cannot yet be specified in the patch');
    } else {
      throw serverError(`unknown patch type: ${printValue(directive)} in map: ${printValue(item)}`);
    }
  }
  if (replaces) return { original: changes, changes: [] };
  const isKept = (item: Json): boolean => {
    const identity = itemIdentity(item, key);
    return identity === undefined || !deleted.has(identity);
  };
  return { original: deleted.size === 0 ? [...live] : live.filter(isKept), changes };
}

interface Ordering {
  readonly order: readonly Json[];
  readonly serverOrder: readonly Json[];
  /** Undefined for plain values. */
  readonly key: string | undefined;
}

/** The patch's items in its order, the others in theirs, interleaved as in the live list where possible. */
function inOrder(items: readonly Json[], { order, serverOrder, key }: Ordering): Json[] {
  if (key !== undefined) for (const item of [...items, ...order]) keyOf(item, key);
  const wanted = positionsIn(order, key);
  const stored = positionsIn(serverOrder, key);
  const placed = items.map((item): Placed => {
    const identity = itemIdentity(item, key);
    const place = (positions: Map<string, number>): number | undefined => (identity === undefined ? undefined : positions.get(identity));
    return { item, wanted: place(wanted), stored: place(stored) };
  });
  const patched = placed.filter((one) => one.wanted !== undefined).sort((one, other) => one.wanted! - other.wanted!);
  const others = placed.filter((one) => one.wanted === undefined).sort((one, other) => last(one.stored) - last(other.stored));
  const result: Json[] = [];
  let left = 0;
  let right = 0;
  while (left < others.length || right < patched.length) {
    const takeOther = right >= patched.length || (left < others.length && comesFirst(others[left]!, patched[right]!));
    result.push((takeOther ? others[left++]! : patched[right++]!).item);
  }
  return result;
}

/** An item, and where the patch and the live list have it. */
interface Placed {
  readonly item: Json;
  readonly wanted: number | undefined;
  readonly stored: number | undefined;
}

const last = (position: number | undefined): number => position ?? Number.MAX_SAFE_INTEGER;

function comesFirst(one: Placed, other: Placed): boolean {
  return one.stored !== undefined && other.stored !== undefined && one.stored < other.stored;
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
