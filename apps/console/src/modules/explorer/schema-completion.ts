import type { JsonObject } from '@capstan/machinery/objects';
import { fieldsOf, textOf } from '../json/reading.ts';
import type { YamlPlace } from './yaml-place.ts';

export interface Suggestion {
  readonly label: string;
  /** Such as the type of a field. */
  readonly detail: string;
  readonly info: string;
  /** The text to insert. */
  readonly insert: string;
}

/** The schemas of one group and version, as `/openapi/v3` serves them. */
export interface SchemaDocument {
  readonly components?: { readonly schemas?: Readonly<Record<string, JsonObject>> };
}

export interface GroupVersionKind {
  readonly apiVersion: string;
  readonly kind: string;
}

export const schemaPath = (apiVersion: string): string => `/openapi/v3/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}`;

/** The fields or values that fit at a place of an object of this kind. */
export function suggestionsAt(document: SchemaDocument, type: GroupVersionKind, { path, key }: YamlPlace): readonly Suggestion[] {
  const schemas = document.components?.schemas ?? {};
  const root = Object.values(schemas).find((schema) => isOfKind(schema, type));
  const place = path.reduce<JsonObject | undefined>((schema, step) => childOf(schemas, schema, step), root && resolved(schemas, root));
  if (place === undefined) return [];
  if (key !== undefined) return valuesOf(childOf(schemas, place, key));
  return Object.entries(fieldsOf(place['properties'])).map(([name, value]) => {
    const field = { ...resolved(schemas, fieldsOf(value)), ...fieldsOf(value) };
    const type = typeOf(field);
    const isRequired = Array.isArray(place['required']) && place['required'].includes(name);
    return {
      label: name,
      detail: isRequired ? `${type}, required` : type,
      info: textOf(field['description']),
      insert: type === 'object' || type === 'array' ? `${name}:` : `${name}: `,
    };
  });
}

function isOfKind(schema: JsonObject, { apiVersion, kind }: GroupVersionKind): boolean {
  const kinds = schema['x-kubernetes-group-version-kind'];
  if (!Array.isArray(kinds)) return false;
  return kinds.map(fieldsOf).some((one) => {
    const group = textOf(one['group']);
    return one['kind'] === kind && (group === '' ? '' : `${group}/`) + textOf(one['version']) === apiVersion;
  });
}

/** Follows references. Fields with a description of their own wrap one into `allOf`. */
function resolved(schemas: Readonly<Record<string, JsonObject>>, schema: JsonObject, depth = 0): JsonObject {
  const [only] = Array.isArray(schema['allOf']) && schema['allOf'].length === 1 ? schema['allOf'] : [];
  const reference = textOf(schema['$ref'] ?? fieldsOf(only)['$ref']);
  const target = schemas[reference.slice(reference.lastIndexOf('/') + 1)];
  return reference === '' || target === undefined || depth > 8 ? schema : resolved(schemas, target, depth + 1);
}

function childOf(schemas: Readonly<Record<string, JsonObject>>, schema: JsonObject | undefined, step: string): JsonObject | undefined {
  if (schema === undefined) return undefined;
  const child = step === '[]' ? schema['items'] : (fieldsOf(schema['properties'])[step] ?? schema['additionalProperties']);
  const fields = fieldsOf(child);
  return Object.keys(fields).length === 0 ? undefined : resolved(schemas, fields);
}

function typeOf(schema: JsonObject): string {
  const type = textOf(schema['type']);
  if (type !== '') return type;
  return schema['properties'] === undefined && schema['additionalProperties'] === undefined ? 'value' : 'object';
}

function valuesOf(schema: JsonObject | undefined): readonly Suggestion[] {
  if (schema === undefined) return [];
  const values = Array.isArray(schema['enum']) ? schema['enum'] : schema['type'] === 'boolean' ? [true, false] : [];
  const info = textOf(schema['description']);
  return values
    .filter((value) => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    .map((value) => String(value))
    .filter((value) => value !== '')
    .map((value) => ({ label: value, detail: schema['default'] === value ? 'default' : '', info, insert: value }));
}
