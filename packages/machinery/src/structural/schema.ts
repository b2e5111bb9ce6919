import { isObject, type Json, type JsonObject } from '../json.ts';
import { endsPart, type Parts, whole } from '../work/parts.ts';

/** A CEL rule as the schema's author wrote it. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  readonly reason: string | undefined;
  readonly fieldPath: string;
  readonly optionalOldSelf: boolean | undefined;
}

/**
 * A custom resource's schema in parsed form. The same form serves for the structure of an object and for value validations below `allOf`,
 * `anyOf`, `oneOf` and `not`; the checks reject keywords that those must not use.
 */
export interface Schema {
  /** As written. */
  readonly json: JsonObject;
  readonly type: string;
  readonly format: string;
  readonly nullable: boolean;
  readonly default: Json | undefined;
  readonly properties: ReadonlyMap<string, Schema>;
  readonly additional: AdditionalProperties | undefined;
  readonly items: Schema | undefined;
  readonly required: ReadonlySet<string>;
  readonly enumeration: readonly Json[];
  readonly pattern: string;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly exclusiveMaximum: boolean;
  readonly multipleOf: number | undefined;
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
  readonly minItems: number | undefined;
  readonly maxItems: number | undefined;
  readonly uniqueItems: boolean;
  readonly minProperties: number | undefined;
  readonly maxProperties: number | undefined;
  readonly allOf: readonly Schema[];
  readonly anyOf: readonly Schema[];
  readonly oneOf: readonly Schema[];
  readonly not: Schema | undefined;
  readonly embeddedResource: boolean;
  readonly intOrString: boolean;
  readonly preserveUnknown: boolean;
  readonly listType: string | undefined;
  readonly listKeys: readonly string[];
  readonly mapType: string | undefined;
  readonly rules: readonly ValidationRule[];
}

export interface AdditionalProperties {
  /** False if additional properties are forbidden. */
  readonly allowed: boolean;
  /** Undefined if they may be anything. */
  readonly schema: Schema | undefined;
}

const none: readonly never[] = [];
const noProperties: ReadonlyMap<string, Schema> = new Map();

/** Parses a schema that was decoded as JSONSchemaProps, so that every field has its type. */
export function readSchema(json: JsonObject): Schema {
  return whole(readSchemaInParts(json));
}

/** The same in parts: a schema may have tens of thousands of properties. */
export function* readSchemaInParts(json: JsonObject): Parts<Schema> {
  if (endsPart()) yield;
  const get = (key: string): Json | undefined => (Object.hasOwn(json, key) ? json[key] : undefined);
  const [properties, additional, items, not] = [get('properties'), get('additionalProperties'), get('items'), get('not')];
  const [allOf, anyOf, oneOf] = [get('allOf'), get('anyOf'), get('oneOf')];
  return {
    json,
    type: text(get('type')),
    format: text(get('format')),
    nullable: get('nullable') === true,
    default: get('default') ?? undefined,
    properties: isObject(properties) ? yield* readProperties(properties) : noProperties,
    additional: additional === undefined ? undefined : yield* readAdditional(additional),
    items: isObject(items) ? yield* readSchemaInParts(items) : undefined,
    required: new Set(texts(get('required'))),
    enumeration: list(get('enum')),
    pattern: text(get('pattern')),
    minimum: number(get('minimum')),
    maximum: number(get('maximum')),
    exclusiveMinimum: get('exclusiveMinimum') === true,
    exclusiveMaximum: get('exclusiveMaximum') === true,
    multipleOf: number(get('multipleOf')),
    minLength: number(get('minLength')),
    maxLength: number(get('maxLength')),
    minItems: number(get('minItems')),
    maxItems: number(get('maxItems')),
    uniqueItems: get('uniqueItems') === true,
    minProperties: number(get('minProperties')),
    maxProperties: number(get('maxProperties')),
    allOf: isFilled(allOf) ? yield* schemas(allOf) : none,
    anyOf: isFilled(anyOf) ? yield* schemas(anyOf) : none,
    oneOf: isFilled(oneOf) ? yield* schemas(oneOf) : none,
    not: isObject(not) ? yield* readSchemaInParts(not) : undefined,
    embeddedResource: get('x-kubernetes-embedded-resource') === true,
    intOrString: get('x-kubernetes-int-or-string') === true,
    preserveUnknown: get('x-kubernetes-preserve-unknown-fields') === true,
    listType: maybeText(get('x-kubernetes-list-type')),
    listKeys: texts(get('x-kubernetes-list-map-keys')),
    mapType: maybeText(get('x-kubernetes-map-type')),
    rules: list(get('x-kubernetes-validations')).filter(isObject).map(readRule),
  };
}

function readRule(json: JsonObject): ValidationRule {
  const { optionalOldSelf } = json;
  return {
    rule: text(json['rule']),
    message: text(json['message']),
    messageExpression: text(json['messageExpression']),
    reason: maybeText(json['reason']),
    fieldPath: text(json['fieldPath']),
    optionalOldSelf: typeof optionalOldSelf === 'boolean' ? optionalOldSelf : undefined,
  };
}

function* readProperties(value: JsonObject): Parts<ReadonlyMap<string, Schema>> {
  const properties = new Map<string, Schema>();
  for (const name of Object.keys(value)) {
    const property = value[name];
    properties.set(name, yield* readSchemaInParts(isObject(property) ? property : {}));
  }
  return properties;
}

function* readAdditional(value: Json): Parts<AdditionalProperties | undefined> {
  if (typeof value === 'boolean') return { allowed: value, schema: undefined };
  return isObject(value) ? { allowed: true, schema: yield* readSchemaInParts(value) } : undefined;
}

const isFilled = (value: Json | undefined): value is Json[] => Array.isArray(value) && value.length > 0;

function* schemas(value: readonly Json[]): Parts<readonly Schema[]> {
  const read: Schema[] = [];
  for (const item of value) read.push(yield* readSchemaInParts(isObject(item) ? item : {}));
  return read;
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : none;
}

function texts(value: Json | undefined): readonly string[] {
  return isFilled(value) ? value.filter((item) => typeof item === 'string') : none;
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function maybeText(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function number(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
