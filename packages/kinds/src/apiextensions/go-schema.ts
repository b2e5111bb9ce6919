import { isObject, type Json, type JsonObject } from '@capstan/machinery';

/** The fields of a schema: Go's names in Go's order, with their zero values. */
const fields: readonly [string, string, Json][] = [
  ['ID', 'id', ''],
  ['Schema', '$schema', ''],
  ['Ref', '$ref', null],
  ['Description', 'description', ''],
  ['Type', 'type', ''],
  ['Nullable', 'nullable', false],
  ['Format', 'format', ''],
  ['Title', 'title', ''],
  ['Default', 'default', null],
  ['Maximum', 'maximum', null],
  ['ExclusiveMaximum', 'exclusiveMaximum', false],
  ['Minimum', 'minimum', null],
  ['ExclusiveMinimum', 'exclusiveMinimum', false],
  ['MaxLength', 'maxLength', null],
  ['MinLength', 'minLength', null],
  ['Pattern', 'pattern', ''],
  ['MaxItems', 'maxItems', null],
  ['MinItems', 'minItems', null],
  ['UniqueItems', 'uniqueItems', false],
  ['MultipleOf', 'multipleOf', null],
  ['Enum', 'enum', null],
  ['MaxProperties', 'maxProperties', null],
  ['MinProperties', 'minProperties', null],
  ['Required', 'required', null],
  ['Items', 'items', null],
  ['AllOf', 'allOf', null],
  ['OneOf', 'oneOf', null],
  ['AnyOf', 'anyOf', null],
  ['Not', 'not', null],
  ['Properties', 'properties', null],
  ['AdditionalProperties', 'additionalProperties', null],
  ['PatternProperties', 'patternProperties', null],
  ['Dependencies', 'dependencies', null],
  ['AdditionalItems', 'additionalItems', null],
  ['Definitions', 'definitions', null],
  ['ExternalDocs', 'externalDocs', null],
  ['Example', 'example', null],
  ['XPreserveUnknownFields', 'x-kubernetes-preserve-unknown-fields', null],
  ['XEmbeddedResource', 'x-kubernetes-embedded-resource', false],
  ['XIntOrString', 'x-kubernetes-int-or-string', false],
  ['XListMapKeys', 'x-kubernetes-list-map-keys', null],
  ['XListType', 'x-kubernetes-list-type', null],
  ['XMapType', 'x-kubernetes-map-type', null],
  ['XValidations', 'x-kubernetes-validations', null],
];

/** Converts a schema to the form in which Go prints it in error messages. */
export function goSchema(json: JsonObject): JsonObject {
  const shown: JsonObject = {};
  for (const [name, keyword, nothing] of fields) {
    const value = Object.hasOwn(json, keyword) ? json[keyword]! : nothing;
    shown[name] = isObject(value) || Array.isArray(value) ? inside(keyword, value) : value;
  }
  return shown;
}

function inside(keyword: string, value: Json[] | JsonObject): Json {
  switch (keyword) {
    case 'allOf':
    case 'oneOf':
    case 'anyOf':
      return (value as JsonObject[]).map(goSchema);
    case 'not':
      return goSchema(value as JsonObject);
    case 'items':
      return { Schema: goSchema(value as JsonObject), JSONSchemas: null };
    case 'additionalProperties':
      return { Allows: true, Schema: goSchema(value as JsonObject) };
    case 'properties': {
      const names = Object.keys(value).sort();
      return Object.fromEntries(names.map((name) => [name, goSchema((value as JsonObject)[name] as JsonObject)]));
    }
    default:
      return value;
  }
}
