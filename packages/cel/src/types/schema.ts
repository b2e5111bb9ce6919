import type { Json, JsonObject } from '@capstan/machinery';
import { JsonList, JsonMap, JsonMapList, JsonSet, JsonStruct } from '../value/json.ts';
import { parseDate } from '../value/timestamp.ts';
import { CelError, type ListValue, type Value } from '../value/value.ts';
import type { Declaration, ObjectField } from './declaration.ts';
import * as declare from './declare.ts';
import { escapeProperty } from './escape.ts';
import { listOf, mapOf, objectOf, STRING, TIMESTAMP } from './type.ts';

/** The largest request that the server accepts, which bounds sizes that a schema does not limit. */
const REQUEST_BYTES = 3 * 1024 * 1024;

/** A structural schema: the part of OpenAPI v3 used by custom resources. */
export interface StructuralSchema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema | boolean;
  readonly items?: StructuralSchema;
  readonly required?: readonly string[];
  readonly enum?: readonly Json[];
  readonly default?: Json;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

export interface SchemaOptions {
  /** The name of the object's type in messages; its parts are named after it (`self.spec`, `self.items.@idx`). */
  readonly name?: string;
  /** Whether `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` exist without being declared. */
  readonly isResourceRoot?: boolean;
}

/** The declaration of data with a schema; undefined for data that expressions cannot see, such as preserved unknown fields. */
export function declarationOfSchema(schema: StructuralSchema, options: SchemaOptions = {}): Declaration | undefined {
  const inner = declareSchema(schema, options.name ?? 'self', options.isResourceRoot ?? false);
  return inner === undefined ? undefined : withNull(inner, schema.nullable === true);
}

const notNullable = new CelError('invalid data, got null for schema with nullable=false');

function withNull(declaration: Declaration, isNullable: boolean): Declaration {
  const { read } = declaration;
  return { ...declaration, read: (json) => (json === null ? (isNullable ? null : notNullable) : read(json)) };
}

function declareSchema(schema: StructuralSchema, name: string, isResourceRoot: boolean): Declaration | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) return declareIntOrString(schema);
  switch (schema.type) {
    case 'array':
      return declareArray(schema, name);
    case 'object':
      return declareObject(isResourceRoot ? withObjectMeta(schema) : schema, name);
    case 'string':
      return declareString(schema);
    case 'boolean':
      return declare.bool;
    case 'number':
      return declare.double;
    case 'integer':
      return declare.int;
    default:
      return undefined;
  }
}

function declareIntOrString(schema: StructuralSchema): Declaration {
  const read = (json: Json): Value => {
    if (typeof json === 'string') return json;
    if (Number.isInteger(json)) return declare.readInteger(json);
    return new CelError('invalid data, expected XIntOrString value to be either a string or integer');
  };
  return { ...declare.dyn, read, maximumSize: textSize(schema) };
}

/** In bytes, while `maxLength` counts characters of up to four bytes. */
function textSize(schema: StructuralSchema): number {
  if (schema.maxLength !== undefined) return Math.max(0, schema.maxLength) * 4;
  return REQUEST_BYTES - 2;
}

function declareString(schema: StructuralSchema): Declaration {
  switch (schema.format) {
    case 'byte':
      return { ...declare.bytes, maximumSize: schema.maxLength === undefined ? REQUEST_BYTES - 2 : Math.max(0, schema.maxLength) };
    case 'duration':
      return { ...declare.duration, maximumSize: 32 };
    case 'date':
      return { type: TIMESTAMP, read: readDate, maximumSize: 12, minimumBytes: 12 };
    case 'date-time':
      return { ...declare.timestamp, maximumSize: 32, minimumBytes: 21 };
    default: {
      const isEnumeration = schema.maxLength === undefined && (schema.enum?.length ?? 0) > 0;
      return { ...declare.string, maximumSize: isEnumeration ? longest(schema.enum!) : textSize(schema) };
    }
  }
}

function longest(values: readonly Json[]): number {
  return values.reduce<number>((most, value) => (typeof value === 'string' ? Math.max(most, Buffer.byteLength(value)) : most), 0);
}

function readDate(json: Json): Value {
  if (typeof json !== 'string') return new CelError(`invalid data, expected string, got ${declare.jsonKind(json)}`);
  return parseDate(json) ?? new CelError(`Invalid date formatted string ${json}: unable to parse ${json} as date`);
}

const notAnArray = new CelError('invalid data, expected an array for the provided schema with type=array');
const notAMap = new CelError('invalid data, expected a map for the provided schema with type=object');

function declareArray(schema: StructuralSchema, name: string): Declaration | undefined {
  const element = declarationOfPart(schema.items, `${name}.@idx`);
  if (element === undefined) return undefined;
  const maximumSize =
    schema.maxItems === undefined ? Math.trunc((REQUEST_BYTES - 2) / (element.minimumBytes + 1)) : Math.max(0, schema.maxItems);
  const make = listMaker(schema, element);
  return {
    type: listOf(element.type),
    read: (json) => (Array.isArray(json) ? make(json) : notAnArray),
    maximumSize,
    minimumBytes: 2,
    element,
  };
}

function declarationOfPart(schema: StructuralSchema | undefined, name: string): Declaration | undefined {
  if (schema === undefined) return undefined;
  return declarationOfSchema(schema, { name, isResourceRoot: schema['x-kubernetes-embedded-resource'] === true });
}

function listMaker(schema: StructuralSchema, element: Declaration): (json: readonly Json[]) => ListValue {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  switch (schema['x-kubernetes-list-type']) {
    case 'map':
      return (json) => new JsonMapList(json, element, keys);
    case 'set':
      return (json) => new JsonSet(json, element);
    default:
      return (json) => new JsonList(json, element);
  }
}

function declareObject(schema: StructuralSchema, name: string): Declaration | undefined {
  const { additionalProperties } = schema;
  if (typeof additionalProperties === 'object') {
    const element = declarationOfPart(additionalProperties, `${name}.@elem`);
    return element === undefined ? undefined : declareMap(schema, element);
  }
  const fields = new Map<string, ObjectField>();
  const required = new Set(schema.required);
  let minimumBytes = 2;
  for (const [property, part] of Object.entries(schema.properties ?? {})) {
    const escaped = escapeProperty(property);
    const declaration = declarationOfPart(part, `${name}.${escaped ?? property}`);
    if (declaration === undefined) continue;
    if (escaped !== undefined) fields.set(escaped, { property, declaration });
    if (required.has(property) && (part.default === undefined || part.default === null)) {
      minimumBytes += Buffer.byteLength(property) + declaration.minimumBytes + 4;
    }
  }
  const make = (json: JsonObject): Value => (schema.properties === undefined ? new JsonMap(json, undefined) : new JsonStruct(json, fields));
  return { type: objectOf(name, fields), read: (json) => (isObject(json) ? make(json) : notAMap), maximumSize: 0, minimumBytes, fields };
}

function isObject(json: Json): json is JsonObject {
  return json !== null && typeof json === 'object' && !Array.isArray(json);
}

function declareMap(schema: StructuralSchema, element: Declaration): Declaration {
  const maximumSize =
    schema.maxProperties === undefined ? Math.trunc((REQUEST_BYTES - 2) / (element.minimumBytes + 6)) : Math.max(0, schema.maxProperties);
  return {
    type: mapOf(STRING, element.type),
    read: (json) => (isObject(json) ? new JsonMap(json, element) : notAMap),
    maximumSize,
    minimumBytes: 2,
    key: declare.string,
    element,
  };
}

const text: StructuralSchema = { type: 'string' };
const objectMeta: StructuralSchema = { type: 'object', properties: { name: text, generateName: text } };

function withObjectMeta(schema: StructuralSchema): StructuralSchema {
  const { kind, apiVersion, metadata } = schema.properties ?? {};
  const isComplete =
    kind?.type === 'string' &&
    apiVersion?.type === 'string' &&
    metadata?.type === 'object' &&
    metadata.properties?.['name']?.type === 'string' &&
    metadata.properties['generateName']?.type === 'string';
  if (isComplete) return schema;
  return { ...schema, properties: { ...schema.properties, kind: text, apiVersion: text, metadata: objectMeta } };
}
