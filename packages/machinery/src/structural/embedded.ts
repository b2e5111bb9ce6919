import { checkObject } from '../codec/check.ts';
import { CodecError } from '../codec/error.ts';
import { jsonKind } from '../codec/json.ts';
import type { FieldError } from '../field/error.ts';
import * as fieldError from '../field/error.ts';
import { FieldPath } from '../field/path.ts';
import { isObject, type Json, type JsonObject, type ObjectMeta } from '../json.ts';
import { dns1035Label, pathSegment } from '../meta/names.ts';
import { validateObjectMeta } from '../meta/validate.ts';
import { builtinTypes } from '../schema/table.ts';
import { contains } from './contains.ts';
import { copyJson } from './own.ts';
import type { Schema } from './schema.ts';

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const hasResources = contains((schema) => schema.embeddedResource);

/**
 * Decodes a resource's metadata: drops unknown fields and returns them. Throws a CodecError if it cannot be decoded. Changes the object.
 */
export function readMetadata(resource: JsonObject): readonly string[] {
  const metadata = resource['metadata'];
  if (metadata === undefined || metadata === null) return [];
  if (!isObject(metadata)) throw new CodecError(`json: cannot unmarshal ${jsonKind(metadata)} into Go value of type v1.ObjectMeta`);
  const { unknown } = checkObject(metadata, builtinTypes().object(objectMeta));
  return unknown.length === 0 ? unknown : unknown.map((problem) => problem.replace('"', '"metadata.'));
}

/** An embedded resource that is malformed: its apiVersion or kind is not a string, or its metadata cannot be decoded. */
export class MalformedResource extends Error {
  override readonly name = 'MalformedResource';
}

/**
 * Decodes the metadata of the resources that the schema marks as embedded; the caller handles the object itself. Returns unknown fields.
 */
export function readEmbeddedMetadata(object: JsonObject, schema: Schema): readonly string[] {
  if (!hasResources(schema)) return [];
  const unknown: string[] = [];
  read(object, schema, { at: FieldPath.of(), unknown, isRoot: true });
  return unknown;
}

/** The schema of a field; for an embedded resource's metadata, restricted to the fields that ObjectMeta has. */
export function knownMetadata(owner: Schema, name: string, schema: Schema): Schema {
  if (!owner.embeddedResource || name !== 'metadata') return schema;
  const { fields } = builtinTypes().object(objectMeta);
  return { ...schema, properties: new Map([...schema.properties].filter(([field]) => fields.has(field))) };
}

/** The default of one of the owner's fields, without unknown metadata fields of resources inside it. */
export function knownDefault(owner: Schema, name: string, value: Json): Json {
  if (!hasResources(owner)) return value;
  const holder = { [name]: copyJson(value) };
  try {
    read(holder, owner, { at: FieldPath.of(), unknown: [], isRoot: false });
  } catch (error) {
    // A malformed default is rejected together with the object that it is filled into.
    if (!(error instanceof MalformedResource)) throw error;
  }
  return holder[name]!;
}

interface Reading {
  readonly at: FieldPath;
  readonly unknown: string[];
  readonly isRoot: boolean;
}

function read(value: Json, schema: Schema, { at, unknown, isRoot }: Reading): void {
  if (typeof value !== 'object' || value === null || !hasResources(schema)) return;
  if (Array.isArray(value)) {
    if (schema.items !== undefined)
      for (const [index, item] of value.entries()) read(item, schema.items, { at: at.index(index), unknown, isRoot: false });
    return;
  }
  if (schema.embeddedResource && !isRoot) readResource(value, at, unknown);
  for (const key of Object.keys(value)) {
    const property = schema.properties.get(key);
    if (property !== undefined) read(value[key]!, property, { at: at.child(key), unknown, isRoot: false });
    else if (schema.additional?.schema !== undefined)
      read(value[key]!, schema.additional.schema, { at: at.key(key), unknown, isRoot: false });
  }
}

function readResource(resource: JsonObject, at: FieldPath, unknown: string[]): void {
  for (const key of ['apiVersion', 'kind']) {
    if (Object.hasOwn(resource, key) && typeof resource[key] !== 'string')
      throw malformed(fieldError.invalid(at.child(key), resource[key], 'must be a string'));
  }
  if (!Object.hasOwn(resource, 'metadata')) return;
  const given = copyJson(resource['metadata']!);
  try {
    for (const problem of readMetadata(resource)) unknown.push(problem.replace('"', `"${at.toString()}.`));
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    throw malformed(fieldError.invalid(at.child('metadata'), given, error.message));
  }
}

function malformed({ field, body }: FieldError): MalformedResource {
  return new MalformedResource(`${field}: ${body}`);
}

/** Returns the errors in the resources embedded in an object. */
export function validateEmbedded(object: Json, schema: Schema, at: FieldPath = FieldPath.of()): FieldError[] {
  const errors: FieldError[] = [];
  if (hasResources(schema)) validate(object, schema, { at, errors });
  return errors;
}

interface Validating {
  readonly at: FieldPath;
  readonly errors: FieldError[];
}

function validate(value: Json, schema: Schema, { at, errors }: Validating): void {
  if (typeof value !== 'object' || value === null || !hasResources(schema)) return;
  if (Array.isArray(value)) {
    if (schema.items !== undefined)
      for (const [index, item] of value.entries()) validate(item, schema.items, { at: at.index(index), errors });
    return;
  }
  if (schema.embeddedResource) validateResource(value, { at, errors });
  for (const key of Object.keys(value)) {
    const property = schema.properties.get(key);
    if (property !== undefined) validate(value[key]!, property, { at: at.child(key), errors });
    else if (schema.additional?.schema !== undefined) validate(value[key]!, schema.additional.schema, { at: at.key(key), errors });
  }
}

function validateResource(resource: JsonObject, { at, errors }: Validating): void {
  const { apiVersion, kind, metadata } = resource;
  const version = at.child('apiVersion');
  if (apiVersion === undefined) errors.push(fieldError.required(version));
  else if (typeof apiVersion !== 'string') errors.push(fieldError.invalid(version, apiVersion, 'must be a string'));
  else if (apiVersion === '') errors.push(fieldError.invalid(version, apiVersion, 'must not be empty'));
  else if (apiVersion.split('/').length > 2)
    errors.push(fieldError.invalid(version, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  if (kind === undefined) errors.push(fieldError.required(at.child('kind')));
  else if (typeof kind !== 'string') errors.push(fieldError.invalid(at.child('kind'), kind, 'must be a string'));
  else if (kind === '') errors.push(fieldError.invalid(at.child('kind'), kind, 'must not be empty'));
  else {
    const problems = dns1035Label(kind.toLowerCase());
    if (problems.length > 0)
      errors.push(fieldError.invalid(at.child('kind'), kind, `may have mixed case, but should otherwise match: ${problems.join(',')}`));
  }
  if (!isObject(metadata)) return;
  const meta = metadata as unknown as ObjectMeta;
  const named = { ...meta, name: meta.name || 'fakename' };
  errors.push(
    ...validateObjectMeta(named, {
      namespaced: Boolean(meta.namespace),
      validateName: pathSegment,
      path: at.child('metadata'),
      custom: true,
    }),
  );
}
