import type { Json, JsonObject } from '@capstan/machinery/objects';
import { fieldsOf, textOf } from '../json/reading.ts';

/** A field of a form, made from a JSON schema. */
export interface SchemaField {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly input: FieldInput;
}

export type FieldInput =
  | { readonly kind: 'allocation' }
  | { readonly kind: 'allocations' }
  | { readonly kind: 'choice'; readonly choices: readonly string[]; readonly initial: string }
  | { readonly kind: 'flag'; readonly initial: boolean }
  | { readonly kind: 'integer'; readonly hint: string; readonly minimum: number | undefined; readonly maximum: number | undefined }
  | { readonly kind: 'text'; readonly hint: string; readonly pattern: string | undefined }
  | { readonly kind: 'texts' }
  | { readonly kind: 'json'; readonly hint: string };

/** The values of a form as a person fills it in, by field. Empty texts and lists are absent fields. */
export type FieldValue = string | boolean | readonly string[];
export type FieldValues = Readonly<Record<string, FieldValue>>;
export type FieldFaults = Readonly<Record<string, string>>;

const numberIn = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** The fields of an object's schema, the required ones first. */
export function schemaFields(schema: unknown): readonly SchemaField[] {
  const { properties, required } = fieldsOf(schema);
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(fieldsOf(properties))
    .map(([name, value]): SchemaField => {
      const field = fieldsOf(value);
      const label = textOf(field['title']) || labelOf(name);
      return { name, label, description: textOf(field['description']), isRequired: needed.includes(name), input: inputOf(field) };
    })
    .sort((one, other) => Number(other.isRequired) - Number(one.isRequired));
}

/** `compute_allocation_ids` is `Compute allocations` for people. */
function labelOf(name: string): string {
  const words = name.replace(/_ids$/, 's').replace(/_id$/, '').replaceAll(/[-_]+/g, ' ').trim();
  return words === '' ? name : words[0]!.toUpperCase() + words.slice(1);
}

function inputOf(field: JsonObject): FieldInput {
  const { type, format, pattern } = field;
  const choices = field['enum'];
  const initial = field['default'];
  const hint = typeof initial === 'string' || typeof initial === 'number' ? String(initial) : '';
  if (Array.isArray(choices) && choices.every((one): one is string => typeof one === 'string'))
    return { kind: 'choice', choices, initial: hint };
  if (type === 'string' && format === 'allocation') return { kind: 'allocation' };
  if (type === 'string') return { kind: 'text', hint, pattern: typeof pattern === 'string' ? pattern : undefined };
  if (type === 'boolean') return { kind: 'flag', initial: initial === true };
  if (type === 'integer') return { kind: 'integer', hint, minimum: numberIn(field['minimum']), maximum: numberIn(field['maximum']) };
  if (type === 'array') {
    const items = fieldsOf(field['items']);
    if (items['type'] === 'string') return { kind: items['format'] === 'allocation' ? 'allocations' : 'texts' };
  }
  return { kind: 'json', hint: JSON.stringify(exampleOf(field)) };
}

/** A value of the form that the schema describes, with its required fields. */
function exampleOf(schema: JsonObject): Json {
  switch (schema['type']) {
    case 'array':
      return [exampleOf(fieldsOf(schema['items']))];
    case 'object': {
      const { properties, required } = schema;
      const needed: readonly Json[] = Array.isArray(required) ? required : [];
      const fields = Object.entries(fieldsOf(properties)).filter(([name]) => needed.includes(name));
      return Object.fromEntries(fields.map(([name, value]) => [name, exampleOf(fieldsOf(value))]));
    }
    case 'integer':
    case 'number':
      return numberIn(schema['minimum']) ?? 0;
    case 'boolean':
      return false;
    default:
      return '…';
  }
}

export function initialValues(fields: readonly SchemaField[]): FieldValues {
  return Object.fromEntries(
    fields.map(({ name, input }): [string, FieldValue] => {
      if (input.kind === 'choice' || input.kind === 'flag') return [name, input.initial];
      return [name, input.kind === 'allocations' || input.kind === 'texts' ? [] : ''];
    }),
  );
}

const isEmpty = (value: FieldValue | undefined): boolean => value === undefined || (typeof value !== 'boolean' && value.length === 0);

/** Messages by field, for those that are wrong. The server has the last word. */
export function faultsIn(fields: readonly SchemaField[], values: FieldValues): FieldFaults {
  const faults = fields.map(({ name, isRequired, input }) => {
    const value = values[name];
    if (isEmpty(value)) return [name, isRequired ? 'It is required' : undefined] as const;
    return [name, typeof value === 'string' ? textFault(input, value) : undefined] as const;
  });
  return Object.fromEntries(faults.filter((one): one is [string, string] => one[1] !== undefined));
}

function textFault(input: FieldInput, value: string): string | undefined {
  switch (input.kind) {
    case 'integer': {
      const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = input;
      const amount = Number(value);
      if (!Number.isInteger(amount)) return 'A whole number';
      return amount < minimum || amount > maximum ? `A whole number ${rangeOf(input)}` : undefined;
    }
    case 'text':
      return input.pattern === undefined || matches(input.pattern, value) ? undefined : `It has to match ${input.pattern}`;
    case 'json':
      return parsed(value) === undefined ? `It has to be JSON, such as ${input.hint}` : undefined;
    default:
      return undefined;
  }
}

function rangeOf({ minimum, maximum }: { readonly minimum: number | undefined; readonly maximum: number | undefined }): string {
  if (minimum !== undefined && maximum !== undefined) return `from ${minimum} to ${maximum}`;
  return minimum === undefined ? `up to ${maximum}` : `from ${minimum}`;
}

/** Patterns come from the owner of the platform. One that no browser understands is left to the server. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The object that the values describe. Fields that nobody has filled in are absent, so that the server adds the defaults. */
export function objectOf(fields: readonly SchemaField[], values: FieldValues): JsonObject {
  const result: JsonObject = {};
  for (const { name, input } of fields) {
    const value = values[name];
    if (value === undefined || isEmpty(value)) continue;
    if (typeof value === 'boolean') {
      if (input.kind !== 'flag' || value !== input.initial) result[name] = value;
    } else if (typeof value !== 'string') result[name] = [...value];
    else if (input.kind === 'integer') result[name] = Number(value);
    else if (input.kind === 'json') result[name] = parsed(value) ?? value;
    else result[name] = value;
  }
  return result;
}
