import type { Json } from '../json.ts';
import type { ObjectType, Type } from '../schema/type.ts';
import type { Parts } from '../work/parts.ts';
import type { Managed } from './entries.ts';
import { differenceInParts, emptySet, type FieldSet, intersection, isEmpty, unionInParts, withSelf } from './field-set.ts';
import { removeItems } from './remove-items.ts';
import { fieldTypeOrDeduced, isNamedField, itemType } from './shape.ts';
import { toFieldSetInParts } from './to-field-set.ts';

/** Adds the named fields that lead to the set's paths: a struct is removed once all of it is removed, a map is not. */
function withNamedFields(type: Type, set: FieldSet): FieldSet {
  if (isEmpty(set)) return set;
  const result: { [element: string]: FieldSet } = {};
  for (const element in set) {
    const node = set[element]!;
    if (element === '.') {
      result[element] = node;
      continue;
    }
    const name = element.startsWith('f:') ? element.slice(2) : undefined;
    const inside = name === undefined ? itemType(type) : fieldTypeOrDeduced(type, name);
    const expanded = withNamedFields(inside, node);
    result[element] = name !== undefined && isNamedField(type, name) ? withSelf(expanded) : expanded;
  }
  return result;
}

export interface Pruning {
  readonly type: ObjectType;
  /** The fields that the manager owned through its last configuration. */
  readonly last: FieldSet;
  /** The fields of all managers, including those of the new configuration. */
  readonly managed: readonly Managed[];
}

/**
 * Removes, in parts, the fields that the manager applied last time but not now, if nobody else owns them. A list item or map key that others have
 * filled since stays.
 */
export function* prune(merged: Json, { type, last, managed }: Pruning): Parts<Json> {
  if (isEmpty(last)) return merged;
  const lastNamed = withNamedFields(type, last);
  yield;
  const fieldsOf = function* (value: Json | undefined): Parts<FieldSet> {
    return value === undefined ? emptySet : withNamedFields(type, yield* toFieldSetInParts(type, value));
  };
  const mergedNamed = yield* fieldsOf(merged);
  yield;
  const stripped = removeItems(type, merged, lastNamed);
  yield;
  let owned = emptySet;
  for (const one of managed) owned = yield* unionInParts(owned, one.fields);
  yield;
  const kept = yield* fieldsOf(stripped);
  yield;
  const wanted = yield* unionInParts(kept, withNamedFields(type, owned));
  yield;
  const restored = removeItems(type, merged, yield* differenceInParts(mergedNamed, wanted));
  yield;
  const left = yield* differenceInParts(mergedNamed, yield* fieldsOf(restored));
  yield;
  const gone = intersection(left, lastNamed);
  return removeItems(type, merged, gone) ?? {};
}
