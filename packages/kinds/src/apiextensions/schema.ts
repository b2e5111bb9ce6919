import {
  defaultErrors,
  endsPart,
  type FieldError,
  type FieldPath,
  fieldError,
  fieldsOf,
  formatCheck,
  isObject,
  isUnreadable,
  itemsOf,
  type JsonObject,
  type KubeObject,
  type Parts,
  readSchemaInParts,
  schemaErrors,
  structuralErrors,
} from '@capstan/machinery';
import { goSchema } from './go-schema.ts';

/** The only keywords allowed at the root when the status subresource is enabled. */
const allowedAtRoot: ReadonlySet<string> = new Set([
  ...['description', 'type', 'format', 'title', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum', 'maxLength', 'minLength'],
  ...['pattern', 'maxItems', 'minItems', 'uniqueItems', 'multipleOf', 'required', 'items', 'properties', 'externalDocs', 'example'],
  ...['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-validations'],
]);

const goNames =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations';

export interface SchemaOptions {
  readonly hasStatus: boolean;
  /** Checks the rules of a schema that has no other errors. */
  readonly ruleErrors: (json: JsonObject, at: FieldPath) => Parts<FieldError[]>;
}

/** Validates the schema of a version. */
export function* versionSchemaErrors(json: JsonObject, at: FieldPath, { hasStatus, ruleErrors }: SchemaOptions): Parts<FieldError[]> {
  const place = at.child('openAPIV3Schema');
  const errors = hasStatus ? statusErrors(json, at) : [];
  if (json['nullable'] === true)
    errors.push(fieldError.forbidden(at.child('openAPIV3Schema.nullable'), 'nullable cannot be true at the root'));
  const schema = yield* readSchemaInParts(json);
  yield;
  const structural = (yield* isUnreadable(json)) ? undefined : yield* structuralErrors(schema, place);
  yield;
  const defaults = structural?.length === 0 ? yield* defaultErrors({ ...schema, embeddedResource: true }, place) : [];
  yield;
  const others = yield* schemaErrors(schema, place);
  yield;
  const found = [...errors, ...(structural ?? []), ...defaults, ...others];
  return found.length > 0 ? found : yield* ruleErrors(json, place);
}

function statusErrors(json: JsonObject, at: FieldPath): FieldError[] {
  const { type } = json;
  if (type !== undefined && type !== 'object') {
    const why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [fieldError.invalid(at.child('openAPIV3Schema.type'), type, why)];
  }
  if (Object.keys(json).every((keyword) => allowedAtRoot.has(keyword))) return [];
  const why = `only [${goNames}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [fieldError.invalid(at.child('openAPIV3Schema'), goSchema(json), why)];
}

/** Unknown string formats: they are not validated, which the author may not expect. */
export function* unknownFormats(definition: KubeObject): Parts<string[]> {
  const found: string[] = [];
  for (const version of itemsOf(fieldsOf(definition['spec'])['versions']))
    yield* collect(fieldsOf(version['schema'])['openAPIV3Schema'], found);
  return found;
}

function* collect(schema: unknown, found: string[]): Parts<void> {
  if (Array.isArray(schema)) for (const inner of schema) yield* collect(inner, found);
  if (!isObject(schema)) return;
  if (endsPart()) yield;
  const { type, format } = schema;
  if (type === 'string' && typeof format === 'string' && format !== '' && formatCheck(format) === undefined) found.push(format);
  for (const keyword of ['items', 'allOf', 'anyOf', 'oneOf', 'not', 'additionalProperties'])
    if (schema[keyword] !== undefined) yield* collect(schema[keyword], found);
  const { properties } = schema;
  if (isObject(properties)) for (const name in properties) yield* collect(properties[name], found);
}
