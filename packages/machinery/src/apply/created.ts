import { isObject, type Json, type JsonObject } from '../json.ts';
import type { ListType, ObjectType, Type } from '../schema/type.ts';
import { endsPart, type Parts, sortInParts } from '../work/parts.ts';
import { emptySet, type FieldSet, sortedInParts } from './field-set.ts';
import type { PathElement } from './path-element.ts';
import { fieldTypeOrDeduced, itemElement, itemType, listOf, mapOf, shapeOf } from './shape.ts';
import { isBuiltIn, zeroFields } from './zero.ts';

type Building = { [element: PathElement]: FieldSet };

/** Metadata that nobody owns: the server's own fields and those that name the object. */
const unownedMetadata: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
]);

export const unowned: FieldSet = {
  'f:apiVersion': emptySet,
  'f:kind': emptySet,
  'f:metadata': { '.': emptySet, ...Object.fromEntries([...unownedMetadata].sort().map((name) => [`f:${name}`, emptySet])) },
};

/** The fields that the creator of this object owns. Every create runs this, so a single walk builds the set in its final form. */
export function* createdFields(type: ObjectType, object: JsonObject): Parts<FieldSet> {
  const builtIn = isBuiltIn(type);
  const result: Building = {};
  for (const key of Object.keys(object).sort()) {
    if (key === 'apiVersion' || key === 'kind') continue;
    const value = object[key];
    if (value === undefined) continue;
    const node =
      key === 'metadata'
        ? yield* metadataFields(type, value)
        : builtIn
          ? yield* overZero(type, key, value)
          : yield* added(fieldTypeOrDeduced(type, key), value);
    if (node !== undefined) result[`f:${key}`] = node;
  }
  return result;
}

function* metadataFields(type: ObjectType, metadata: Json): Parts<FieldSet | undefined> {
  if (!isObject(metadata)) return undefined;
  const metaType = fieldTypeOrDeduced(type, 'metadata');
  let result: Building | undefined;
  for (const key of Object.keys(metadata).sort()) {
    const value = metadata[key];
    if (value !== undefined && !unownedMetadata.has(key))
      (result ??= {})[`f:${key}`] = yield* added(fieldTypeOrDeduced(metaType, key), value);
  }
  return result;
}

/** A field of a struct whose zero value existed before. */
function* overZero(type: ObjectType, key: string, value: Json): Parts<FieldSet | undefined> {
  const zero = zeroFields(type).get(key);
  const valueType = fieldTypeOrDeduced(type, key);
  if (zero === undefined || zero === 'absent') return yield* added(valueType, value);
  if (zero === 'struct') return yield* structFields(valueType as ObjectType, value);
  if (value === zero.value) return undefined;
  switch (shapeOf(valueType, value)) {
    case 'list':
      return (listOf(value)?.length ?? 0) === 0 ? emptySet : yield* itemsAdded(valueType as ListType, value as Json[], {});
    case 'map':
      return yield* fieldsAdded(valueType, mapOf(value) ?? {}, {});
    default:
      return emptySet;
  }
}

function* structFields(type: ObjectType, value: Json): Parts<FieldSet | undefined> {
  if (!isObject(value)) return undefined;
  if (type.atomic) return Object.keys(value).length === 0 ? undefined : emptySet;
  let result: Building | undefined;
  for (const key of Object.keys(value).sort()) {
    if (value[key] === undefined) continue;
    const node = yield* overZero(type, key, value[key]!);
    if (node !== undefined) (result ??= {})[`f:${key}`] = node;
  }
  return result;
}

/** All of a new value, including the value itself. */
function* added(type: Type, value: Json): Parts<FieldSet> {
  switch (shapeOf(type, value)) {
    case 'map': {
      const map = mapOf(value);
      return map === undefined ? emptySet : yield* fieldsAdded(type, map, { '.': emptySet });
    }
    case 'list': {
      const list = listOf(value);
      return list === undefined || list.length === 0 ? emptySet : yield* itemsAdded(type as ListType, list, { '.': emptySet });
    }
    default:
      return emptySet;
  }
}

function* fieldsAdded(type: Type, map: JsonObject, result: Building): Parts<FieldSet> {
  const keys = Object.keys(map);
  if (keys.length === 0) return emptySet;
  yield;
  if (keys.length > 1) yield* sortInParts(keys, byText);
  for (const key of keys) {
    if (endsPart()) yield;
    const value = map[key];
    if (value === undefined) continue;
    result[`f:${key}`] = isScalar(value) ? emptySet : yield* added(fieldTypeOrDeduced(type, key), value);
  }
  return result;
}

const isScalar = (value: Json): boolean => typeof value !== 'object' || value === null;
const byText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

function* itemsAdded(type: ListType, list: Json[], result: Building): Parts<FieldSet> {
  for (const item of list) {
    if (endsPart()) yield;
    const element = itemElement(type, item);
    result[element] = element in result || isScalar(item) ? emptySet : yield* added(itemType(type), item);
  }
  return list.length > 1 ? yield* sortedInParts(result) : result;
}
