import type { Json, JsonObject } from '@capstan/machinery/objects';

/** Whether a field must be written, may be absent, or gets a default from the server. */
export type Presence = 'required' | 'optional' | 'defaulted';

declare const types: unique symbol;

/**
 * A structural schema together with the type of its values. `Read` is what the server returns, `Written` is what it accepts: a field with a
 * default may be absent when an object is written, and is present when it is read.
 */
export interface Schema<Read = unknown, Written = Read, P extends Presence = Presence> {
  /** The schema as Kubernetes reads it. */
  readonly json: JsonObject;
  readonly presence: P;
  /** Only for inference; no schema has it. */
  readonly [types]?: readonly [Read, Written];
}

export type Required<Read, Written = Read> = Schema<Read, Written, 'required'>;
export type Fields = Readonly<Record<string, Schema>>;

type Simplified<T> = { [K in keyof T]: T[K] };
type Present<F extends Fields, P extends Presence> = { [K in keyof F]: F[K]['presence'] extends P ? K : never }[keyof F];

/** The type of a value that the server returned. */
export type ReadOf<S extends Schema> = S extends Schema<infer Read, infer _, Presence> ? Read : never;
/** The type of a value that the server accepts. */
export type WrittenOf<S extends Schema> = S extends Schema<infer _, infer Written, Presence> ? Written : never;

export type ReadFields<F extends Fields> = Simplified<
  { readonly [K in Present<F, 'required' | 'defaulted'>]: ReadOf<F[K]> } & { readonly [K in Present<F, 'optional'>]?: ReadOf<F[K]> }
>;
export type WrittenFields<F extends Fields> = Simplified<
  { readonly [K in Present<F, 'required'>]: WrittenOf<F[K]> } & { readonly [K in Present<F, 'optional' | 'defaulted'>]?: WrittenOf<F[K]> }
>;

/** A CEL rule of `x-kubernetes-validations`. */
export interface Rule {
  readonly rule: string;
  /** Completes the sentence that begins with the name of the field: `must be larger than …`. */
  readonly message: string;
  /** An expression for a message with values; `message` is used if it fails. */
  readonly messageExpression?: string;
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
  /** The field that the error names, such as `.count`, if it is not the one with the rule. */
  readonly fieldPath?: string;
  /** Evaluates a rule with `oldSelf` on new objects too. */
  readonly optionalOldSelf?: boolean;
}

interface Ruled {
  readonly rules?: readonly Rule[];
}

export interface TextOptions extends Ruled {
  readonly minLength?: number;
  /** Rules on strings without it exceed the server's cost limit soon. */
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
}

export interface NumberOptions extends Ruled {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly multipleOf?: number;
}

export interface ListOptions extends Ruled {
  readonly minItems?: number;
  readonly maxItems?: number;
}

export function text(description: string, options: TextOptions = {}): Required<string> {
  return required({ type: 'string', description, ...keywords(options) });
}

/** One of the given words. */
export function choice<const V extends readonly string[]>(description: string, values: V, options: Ruled = {}): Required<V[number]> {
  return required({ type: 'string', description, enum: [...values], ...keywords(options) });
}

export function integer(description: string, options: NumberOptions & { readonly format?: 'int32' | 'int64' } = {}): Required<number> {
  return required({ type: 'integer', description, ...keywords({ format: 'int64', ...options }) });
}

export function decimal(description: string, options: NumberOptions = {}): Required<number> {
  return required({ type: 'number', description, ...keywords(options) });
}

export function flag(description: string, options: Ruled = {}): Required<boolean> {
  return required({ type: 'boolean', description, ...keywords(options) });
}

/** An object with known fields. An atomic one has a single owner and is replaced as a whole by apply. */
export function object<F extends Fields>(
  description: string,
  fields: F,
  { atomic = false, ...options }: Ruled & { readonly atomic?: boolean } = {},
): Required<ReadFields<F>, WrittenFields<F>> {
  const names = Object.keys(fields).filter((name) => fields[name]!.presence === 'required');
  return required({
    type: 'object',
    description,
    ...(names.length > 0 && { required: names }),
    properties: Object.fromEntries(Object.entries(fields).map(([name, { json }]) => [name, json])),
    ...(atomic && { 'x-kubernetes-map-type': 'atomic' }),
    ...keywords(options),
  });
}

/** An object with keys that its author chooses, and values of one type. */
export function map<R, W>(
  description: string,
  values: Required<R, W>,
  options: Ruled & { readonly minProperties?: number; readonly maxProperties?: number } = {},
): Required<Readonly<Record<string, R>>, Readonly<Record<string, W>>> {
  return required({ type: 'object', description, additionalProperties: values.json, ...keywords(options) });
}

/** A list that has a single owner and is replaced as a whole by apply. */
export function list<R, W>(description: string, items: Required<R, W>, options: ListOptions = {}): Required<readonly R[], readonly W[]> {
  return listOf('atomic', { description, items, options });
}

/** A list without duplicates, in which apply merges the items of several owners. Its items are atoms. */
export function set<R extends string | number | boolean>(
  description: string,
  items: Required<R>,
  options: ListOptions = {},
): Required<readonly R[]> {
  return listOf('set', { description, items, options });
}

/** A list of objects that are told apart by these fields, in which apply merges items by their keys. */
export function keyedList<R extends object, W>(
  description: string,
  items: Required<R, W>,
  { keys, ...options }: ListOptions & { readonly keys: readonly (keyof R & string)[] },
): Required<readonly R[], readonly W[]> {
  const made = listOf('map', { description, items, options });
  return required({ ...made.json, 'x-kubernetes-list-map-keys': [...keys] });
}

/** An object with any fields, which the server stores as they are. */
export function anything(description: string, options: Ruled = {}): Required<JsonObject> {
  return required({ type: 'object', description, 'x-kubernetes-preserve-unknown-fields': true, ...keywords(options) });
}

/** A field that may be absent. */
export function optional<R, W>({ json }: Required<R, W>): Schema<R, W, 'optional'> {
  return { json, presence: 'optional' };
}

/** A field that the server sets if it is absent. */
export function withDefault<R, W>({ json }: Required<R, W>, value: NoInfer<W>): Schema<R, W, 'defaulted'> {
  return { json: { ...json, default: value as Json }, presence: 'defaulted' };
}

/** A schema from keywords that no other function writes. */
export function raw<T>(json: JsonObject, options: Ruled = {}): Required<T> {
  return required({ ...json, ...keywords(options) });
}

/** The keywords of a rule list, or none. */
export function keywords({ rules, ...others }: Ruled): JsonObject {
  return { ...(others as JsonObject), ...(rules !== undefined && { 'x-kubernetes-validations': rules.map((rule) => ({ ...rule })) }) };
}

const required = <R, W = R>(json: JsonObject): Required<R, W> => ({ json, presence: 'required' });

function listOf<R, W>(
  listType: 'atomic' | 'set' | 'map',
  { description, items, options }: { readonly description: string; readonly items: Required<R, W>; readonly options: ListOptions },
): Required<readonly R[], readonly W[]> {
  return required({ type: 'array', description, items: items.json, 'x-kubernetes-list-type': listType, ...keywords(options) });
}
