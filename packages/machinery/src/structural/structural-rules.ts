import type { FieldError } from '../field/error.ts';
import * as fieldError from '../field/error.ts';
import type { FieldPath } from '../field/path.ts';
import { compilePattern, PatternError, patternSteps } from '../pattern/pattern.ts';
import { endsPart, type Parts, sortInParts } from '../work/parts.ts';
import { spend } from '../work/steps.ts';
import type { Schema } from './schema.ts';
import { isSame } from './unchanged.ts';

type Level = 'root' | 'item' | 'field';

const levelNames: Record<Level, string> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

/**
 * The reasons why a schema is not structural. Every field needs a type outside value validations, value validations must not specify
 * structure, and the fields that they mention must be part of the structure.
 */
export function* structuralErrors(schema: Schema, at: FieldPath): Parts<FieldError[]> {
  const errors: FieldError[] = [];
  yield* checkStructure(schema, 'root', at, errors);
  yield* checkCompleteness(schema, { structure: schema, at, from: at }, errors);
  const printed: { readonly error: FieldError; readonly text: string }[] = [];
  for (const error of errors) {
    if (endsPart()) yield;
    printed.push({ error, text: `${error.field}: ${error.body}` });
  }
  yield* sortInParts(printed, (a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  return printed.map(({ error }) => error);
}

function* checkStructure(schema: Schema, level: Level, at: FieldPath, errors: FieldError[]): Parts<void> {
  if (endsPart()) yield;
  if (schema.type === 'array' && schema.items === undefined) errors.push(fieldError.required(at.child('items'), 'must be specified'));
  if (schema.items !== undefined) yield* checkStructure(schema.items, 'item', at.child('items'), errors);
  for (const [name, property] of schema.properties) yield* checkStructure(property, 'field', at.child('properties').key(name), errors);
  if (schema.additional !== undefined) {
    if (level === 'root') errors.push(fieldError.forbidden(at.child('additionalProperties'), 'must not be used at the root'));
    if (schema.additional.schema !== undefined)
      yield* checkStructure(schema.additional.schema, 'field', at.child('additionalProperties'), errors);
  }
  if (schema.intOrString && schema.preserveUnknown)
    errors.push(
      fieldError.invalid(at.child('x-kubernetes-preserve-unknown-fields'), true, 'must be false if x-kubernetes-int-or-string is true'),
    );
  if (schema.intOrString && schema.embeddedResource)
    errors.push(
      fieldError.invalid(at.child('x-kubernetes-embedded-resource'), true, 'must be false if x-kubernetes-int-or-string is true'),
    );
  yield* checkValues(
    schema,
    { anyOf: isIntOrString(schema.anyOf), allOf: schema.allOf.length > 0 && isIntOrString(schema.allOf[0]!.anyOf) },
    at,
    errors,
  );
  checkTypes(schema, level, at, errors);
  checkMeta(schema, level, at, errors);
}

function checkTypes(schema: Schema, level: Level, at: FieldPath, errors: FieldError[]): void {
  const type = at.child('type');
  if (schema.embeddedResource && schema.type !== 'object') {
    const why = 'must be object if x-kubernetes-embedded-resource is true';
    errors.push(schema.type === '' ? fieldError.required(type, why) : fieldError.invalid(type, schema.type, why));
  } else if (schema.type === '' && !schema.intOrString && !schema.preserveUnknown) {
    errors.push(fieldError.required(type, levelNames[level]));
  }
  if (schema.embeddedResource && schema.additional !== undefined)
    errors.push(fieldError.forbidden(at.child('additionalProperties'), 'must not be used if x-kubernetes-embedded-resource is set'));
  if (level === 'root' && schema.type !== '' && schema.type !== 'object')
    errors.push(fieldError.invalid(type, schema.type, 'must be object at the root'));
  if (schema.embeddedResource && !schema.preserveUnknown && schema.properties.size === 0) {
    const why = 'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    errors.push(fieldError.required(at.child('properties'), why));
  }
}

/** A resource's own fields are fixed: a schema may only restrict the name. */
function checkMeta(schema: Schema, level: Level, at: FieldPath, errors: FieldError[]): void {
  const properties = at.child('properties');
  const isResource = level === 'root' || schema.embeddedResource;
  for (const name of ['kind', 'apiVersion']) {
    const property = schema.properties.get(name);
    if (isResource && property !== undefined && property.type !== 'string')
      errors.push(fieldError.invalid(properties.key(name).child('type'), property.type, 'must be string'));
  }
  const metadata = schema.properties.get('metadata');
  if (metadata === undefined) return;
  const place = properties.key('metadata');
  if (isResource && metadata.type !== 'object') errors.push(fieldError.invalid(place.child('type'), metadata.type, 'must be object'));
  if (level === 'root' && !isPlainMetadata(metadata))
    errors.push(
      fieldError.forbidden(place, 'must not specify anything other than name and generateName, but metadata is implicitly specified'),
    );
}

function isPlainMetadata({ json, properties }: Schema): boolean {
  const onlyNames = [...properties.keys()].every((name) => name === 'name' || name === 'generateName');
  return onlyNames && Object.keys(json).every((key) => key === 'type' || key === 'default' || key === 'properties');
}

/** The two ways to declare int-or-string. */
function isIntOrString(anyOf: readonly Schema[]): boolean {
  return anyOf.length === 2 && isSame(anyOf[0]!.json, { type: 'integer' }) && isSame(anyOf[1]!.json, { type: 'string' });
}

interface Exempt {
  readonly anyOf: boolean;
  /** The first entry of `allOf` may be the int-or-string alternative. */
  readonly allOf: boolean;
}

const nothingExempt: Exempt = { anyOf: false, allOf: false };

function* checkValues(schema: Schema, exempt: Exempt, at: FieldPath, errors: FieldError[]): Parts<void> {
  if (!exempt.anyOf)
    for (const [index, inner] of schema.anyOf.entries()) yield* checkNested(inner, nothingExempt, at.child('anyOf').index(index), errors);
  for (const [index, inner] of schema.allOf.entries())
    yield* checkNested(inner, { anyOf: exempt.allOf && index === 0, allOf: false }, at.child('allOf').index(index), errors);
  for (const [index, inner] of schema.oneOf.entries()) yield* checkNested(inner, nothingExempt, at.child('oneOf').index(index), errors);
  if (schema.not !== undefined) yield* checkNested(schema.not, nothingExempt, at.child('not'), errors);
  if (schema.pattern === '') return;
  try {
    yield;
    spend(patternSteps(schema.pattern));
    compilePattern(schema.pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    errors.push(fieldError.invalid(at.child('pattern'), schema.pattern, `must be a valid regular expression, but isn't: ${error.message}`));
  }
}

/** Keywords that value validations must not use: keyword, whether it is used, and the required value. */
const forbiddenInside: readonly [string, (schema: Schema) => boolean, string][] = [
  ['type', (schema) => schema.type !== '', 'empty'],
  ['additionalProperties', ({ additional }) => additional?.schema !== undefined || additional?.allowed === true, 'undefined'],
  ['default', (schema) => schema.default !== undefined, 'undefined'],
  ['title', ({ json }) => Boolean(json['title']), 'empty'],
  ['description', ({ json }) => Boolean(json['description']), 'empty'],
  ['nullable', (schema) => schema.nullable, 'false'],
  ['x-kubernetes-preserve-unknown-fields', (schema) => schema.preserveUnknown, 'false'],
  ['x-kubernetes-embedded-resource', (schema) => schema.embeddedResource, 'false'],
  ['x-kubernetes-int-or-string', (schema) => schema.intOrString, 'false'],
  ['x-kubernetes-list-map-keys', (schema) => schema.listKeys.length > 0, 'empty'],
  ['x-kubernetes-list-type', (schema) => schema.listType !== undefined, 'undefined'],
  ['x-kubernetes-map-type', (schema) => schema.mapType !== undefined, 'undefined'],
  ['x-kubernetes-validations', (schema) => schema.rules.length > 0, 'empty'],
];

function* checkNested(schema: Schema, exempt: Exempt, at: FieldPath, errors: FieldError[]): Parts<void> {
  if (endsPart()) yield;
  yield* checkValues(schema, exempt, at, errors);
  if (schema.items !== undefined) yield* checkNested(schema.items, nothingExempt, at.child('items'), errors);
  for (const [name, property] of schema.properties) yield* checkNested(property, nothingExempt, at.child('properties').key(name), errors);
  for (const [keyword, isSaid, wanted] of forbiddenInside)
    if (isSaid(schema)) errors.push(fieldError.forbidden(at.child(keyword), `must be ${wanted} to be structural`));
  if (schema.properties.has('metadata'))
    errors.push(fieldError.forbidden(at.child('properties').key('metadata'), 'must not be specified in a nested context'));
}

interface Pair {
  readonly structure: Schema | undefined;
  readonly at: FieldPath;
  /** The path of the value validation. */
  readonly from: FieldPath;
}

function* checkCompleteness(values: Schema, { structure, at, from }: Pair, errors: FieldError[]): Parts<void> {
  if (values.not !== undefined) yield* checkPart(values.not, { structure, at, from: from.child('not') }, errors);
  for (const junctor of ['allOf', 'anyOf', 'oneOf'] as const)
    for (const [index, inner] of values[junctor].entries())
      yield* checkPart(inner, { structure, at, from: from.child(junctor).index(index) }, errors);
}

function* checkPart(values: Schema, { structure, at, from }: Pair, errors: FieldError[]): Parts<void> {
  if (endsPart()) yield;
  if (structure === undefined) {
    errors.push(fieldError.required(at, `because it is defined in ${from.toString()}`));
    return;
  }
  yield* checkCompleteness(values, { structure, at, from }, errors);
  if (values.items !== undefined)
    yield* checkPart(values.items, { structure: structure.items, at: at.child('items'), from: from.child('items') }, errors);
  for (const [name, property] of values.properties) {
    const step = (path: FieldPath): FieldPath => path.child('properties').key(name);
    yield* checkPart(property, { structure: structure.properties.get(name), at: step(at), from: step(from) }, errors);
  }
}
