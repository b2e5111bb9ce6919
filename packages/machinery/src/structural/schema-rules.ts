import type { FieldError } from '../field/error.ts';
import * as fieldError from '../field/error.ts';
import type { FieldPath } from '../field/path.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { endsPart, type Parts } from '../work/parts.ts';
import { listRules } from './list-rules.ts';
import { isMetaField } from './own.ts';
import { ruleRules } from './rule-rules.ts';
import { readSchemaInParts, type Schema } from './schema.ts';

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/** The position of the check in a schema. */
interface Place {
  readonly at: FieldPath;
  readonly isRoot: boolean;
  /** Inside apiVersion, kind or metadata. */
  readonly insideMeta: boolean;
  /** Why defaults are forbidden here. */
  readonly noDefaults: string | undefined;
}

/** The errors in a schema that do not depend on whether it is structural. */
export function* schemaErrors(schema: Schema, at: FieldPath): Parts<FieldError[]> {
  const errors: FieldError[] = [];
  yield* check(schema, { at, isRoot: true, insideMeta: false, noDefaults: undefined }, errors);
  return errors;
}

function* check(schema: Schema, place: Place, errors: FieldError[]): Parts<void> {
  if (endsPart()) yield;
  const { at } = place;
  checkKeywords(schema, place, errors);
  if (schema.uniqueItems) {
    const why = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    errors.push(fieldError.forbidden(at.child('uniqueItems'), why));
  }
  const inner: Place = { ...place, isRoot: false };
  yield* checkAdditional(schema, inner, errors);
  for (const [name, property] of schema.properties) yield* check(property, propertyPlace(schema, name, place), errors);
  if (schema.not !== undefined) yield* check(schema.not, { ...inner, at: at.child('not') }, errors);
  for (const junctor of ['allOf', 'oneOf', 'anyOf'] as const)
    for (const [index, part] of schema[junctor].entries()) yield* check(part, { ...inner, at: at.child(junctor).index(index) }, errors);
  yield* checkNamed(schema.json['definitions'], { ...inner, at: at.child('definitions') }, errors);
  if (schema.items !== undefined) yield* check(schema.items, { ...inner, at: at.child('items') }, errors);
  else yield* checkListed(schema.json['items'], { ...inner, at: at.child('items') }, errors);
  yield* checkNamed(schema.json['dependencies'], { ...inner, at: at.child('dependencies') }, errors);
  if (schema.json['x-kubernetes-preserve-unknown-fields'] === false)
    errors.push(fieldError.invalid(at.child('x-kubernetes-preserve-unknown-fields'), false, 'must be true or undefined'));
  errors.push(...listRules(schema, at), ...ruleRules(schema, at));
}

function propertyPlace(schema: Schema, name: string, place: Place): Place {
  const at = place.at.child('properties').key(name);
  if (!(place.isRoot || schema.embeddedResource) || !isMetaField(name)) return { ...place, at, isRoot: false };
  return { at, isRoot: false, insideMeta: true, noDefaults: place.isRoot ? `in top-level ${name}` : place.noDefaults };
}

function* checkAdditional({ additional, properties }: Schema, place: Place, errors: FieldError[]): Parts<void> {
  if (additional === undefined) return;
  const at = place.at.child('additionalProperties');
  if (properties.size > 0 && (!additional.allowed || additional.schema !== undefined))
    errors.push(fieldError.forbidden(at, 'additionalProperties and properties are mutual exclusive'));
  if (additional.schema === undefined) return;
  const noDefaults = place.insideMeta ? 'inside additionalProperties applying to object metadata' : place.noDefaults;
  yield* check(additional.schema, { ...place, at, noDefaults }, errors);
}

/** JSON Schema keywords that custom resources do not support. */
const unsupported: readonly [string, (value: Json) => boolean][] = [
  ['id', (value) => value !== ''],
  ['additionalItems', () => true],
  ['patternProperties', isFilled],
  ['definitions', isFilled],
  ['dependencies', () => true],
  ['$ref', () => true],
];

function isFilled(value: Json): boolean {
  return isObject(value) && Object.keys(value).length > 0;
}

function checkKeywords(schema: Schema, { at, insideMeta, noDefaults }: Place, errors: FieldError[]): void {
  const { type, json } = schema;
  if (type !== '' && !types.includes(type)) errors.push(fieldError.notSupported(at.child('type'), type, types));
  if (schema.default !== undefined && noDefaults !== undefined)
    errors.push(fieldError.forbidden(at.child('default'), `must not be set ${noDefaults}`.trimEnd()));
  for (const [keyword, isSaid] of unsupported) {
    const value = json[keyword];
    if (value !== undefined && isSaid(value)) errors.push(fieldError.forbidden(at.child(keyword), `${keyword} is not supported`));
  }
  if (type === 'null') errors.push(fieldError.forbidden(at.child('type'), 'type cannot be set to null, use nullable as an alternative'));
  if (Array.isArray(json['items']) && json['items'].length > 0)
    errors.push(fieldError.forbidden(at.child('items'), 'items must be a schema object and not an array'));
  if (insideMeta && schema.embeddedResource)
    errors.push(fieldError.forbidden(at.child('x-kubernetes-embedded-resource'), 'must not be used inside of resource meta'));
}

/** Whether the schema cannot be read as a structure at all; the reason is reported separately. */
export function* isUnreadable(json: JsonObject): Parts<boolean> {
  if (endsPart()) yield;
  const said = (keyword: string): Json | undefined => (Object.hasOwn(json, keyword) ? json[keyword] : undefined);
  if (said('$schema') !== undefined) return true;
  if (unsupported.some(([keyword, isSaid]) => said(keyword) !== undefined && isSaid(said(keyword)!))) return true;
  if (Array.isArray(said('items')) || said('x-kubernetes-preserve-unknown-fields') === false) return true;
  const properties = said('properties');
  if (isObject(properties))
    for (const name in properties) {
      const property = properties[name];
      if (isObject(property) && (yield* isUnreadable(property))) return true;
    }
  const inside = [said('not'), said('items'), said('additionalProperties')];
  for (const junctor of ['allOf', 'anyOf', 'oneOf']) {
    const list = said(junctor);
    if (Array.isArray(list)) inside.push(...list);
  }
  for (const part of inside) if (isObject(part) && (yield* isUnreadable(part))) return true;
  return false;
}

function* checkNamed(parts: Json | undefined, place: Place, errors: FieldError[]): Parts<void> {
  if (!isObject(parts)) return;
  for (const name of Object.keys(parts)) {
    const part = parts[name];
    if (isObject(part)) yield* check(yield* readSchemaInParts(part), { ...place, at: place.at.key(name) }, errors);
  }
}

function* checkListed(items: Json | undefined, place: Place, errors: FieldError[]): Parts<void> {
  if (!Array.isArray(items)) return;
  for (const [index, item] of items.entries())
    if (isObject(item)) yield* check(yield* readSchemaInParts(item), { ...place, at: place.at.index(index) }, errors);
}
