import type { FieldError } from '../field/error.ts';
import * as fieldError from '../field/error.ts';
import type { FieldPath } from '../field/path.ts';
import type { Schema } from './schema.ts';

/** The rules for a schema that sets how its list or map merges. */
export function listRules(schema: Schema, at: FieldPath): FieldError[] {
  const { listType, mapType } = schema;
  if (listType === undefined && mapType === undefined && schema.listKeys.length === 0) return [];
  const errors: FieldError[] = [];
  if (mapType !== undefined) {
    if (schema.type !== 'object') errors.push(wrongType(schema, at, 'must be object if x-kubernetes-map-type is specified'));
    if (mapType !== 'atomic' && mapType !== 'granular')
      errors.push(fieldError.notSupported(at.child('x-kubernetes-map-type'), mapType, ['atomic', 'granular']));
  }
  if (listType !== undefined && schema.type !== 'array')
    errors.push(wrongType(schema, at, 'must be array if x-kubernetes-list-type is specified'));
  else if (listType === 'set' && schema.items !== undefined) checkSetItems(schema.items, at.child('items'), errors);
  if (listType !== undefined && !['atomic', 'set', 'map'].includes(listType))
    errors.push(fieldError.notSupported(at.child('x-kubernetes-list-type'), listType, ['atomic', 'set', 'map']));
  if (schema.listKeys.length > 0 && listType !== 'map') {
    const why = 'must be map if x-kubernetes-list-map-keys is non-empty';
    const place = at.child('x-kubernetes-list-type');
    errors.push(listType === undefined ? fieldError.required(place, why) : fieldError.invalid(place, listType, why));
  }
  if (listType === 'map') checkKeyedList(schema, at, errors);
  checkItemsNullable(schema, at, errors);
  return errors;
}

function wrongType({ type }: Schema, at: FieldPath, why: string): FieldError {
  return type === '' ? fieldError.required(at.child('type'), why) : fieldError.invalid(at.child('type'), type, why);
}

/** Items of a set are compared as a whole. */
function checkSetItems(items: Schema, at: FieldPath, errors: FieldError[]): void {
  const why = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  if (items.type === 'array' && items.listType !== undefined && items.listType !== 'atomic')
    errors.push(fieldError.invalid(at.child('x-kubernetes-list-type'), items.listType, why));
  if (items.type === 'object' && items.mapType !== 'atomic')
    errors.push(fieldError.invalid(at.child('x-kubernetes-map-type'), items.listType ?? null, why));
}

/** Each item of a list is compared by all of its keys. */
const mostKeys = 64;

function checkKeyedList(schema: Schema, at: FieldPath, errors: FieldError[]): void {
  const { items, listKeys, json } = schema;
  const keysAt = at.child('x-kubernetes-list-map-keys');
  if (listKeys.length === 0) errors.push(fieldError.required(keysAt, 'must not be empty if x-kubernetes-list-type is map'));
  if (json['items'] === undefined)
    errors.push(fieldError.required(at.child('items'), 'must have a schema if x-kubernetes-list-type is map'));
  else if (items === undefined)
    errors.push(fieldError.invalid(at.child('items'), json['items'], 'must only have a single schema if x-kubernetes-list-type is map'));
  if (items === undefined) return;
  if (items.type !== 'object') {
    const why = "must be object if parent array's x-kubernetes-list-type is map";
    errors.push(fieldError.invalid(at.child('items').child('type'), items.type, why));
    return;
  }
  if (listKeys.length > mostKeys) {
    errors.push(fieldError.tooMany(keysAt, listKeys.length, mostKeys));
    return;
  }
  const seen = new Set<string>();
  for (const key of listKeys) {
    const property = items.properties.get(key);
    if (property === undefined) errors.push(fieldError.invalid(keysAt, listKeys, 'entries must all be names of item properties'));
    else if (property.type === 'array' || property.type === 'object') {
      const place = at.child('items').child('properties').key(key).child('type');
      errors.push(fieldError.invalid(place, items.type, "must be a scalar type if parent array's x-kubernetes-list-type is map"));
    }
    if (seen.has(key)) errors.push(fieldError.invalid(keysAt, listKeys, 'must not contain duplicate entries'));
    seen.add(key);
  }
}

/** The keys that identify items must always be present. */
function checkItemsNullable({ items, listType, listKeys }: Schema, at: FieldPath, errors: FieldError[]): void {
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return;
  if (items.nullable)
    errors.push(fieldError.forbidden(at.child('items').child('nullable'), `cannot be nullable when x-kubernetes-list-type is ${listType}`));
  if (listType !== 'map') return;
  for (const key of listKeys) {
    const property = items.properties.get(key);
    if (property === undefined) continue;
    const place = at.child('items').child('properties').key(key);
    const inKeys = 'this property is in x-kubernetes-list-map-keys, so it';
    if (!items.required.has(key) && property.default === undefined)
      errors.push(fieldError.required(place.child('default'), `${inKeys} must have a default or be a required property`));
    if (property.nullable) errors.push(fieldError.forbidden(place.child('nullable'), `${inKeys} cannot be nullable`));
  }
}
