import { shorten, startOf } from '../status/shorten.ts';
import type { FieldPath } from './path.ts';

export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError';

const titles: Record<FieldErrorType, string> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
};

/** Types whose message omits the offending value. */
const withoutValue = new Set<FieldErrorType>(['FieldValueRequired', 'FieldValueForbidden', 'FieldValueTooLong', 'InternalError']);

const omitted = Symbol('omitted');

/** One problem with one field, made by the functions below; `body` is Kubernetes' wording. */
export interface FieldError {
  readonly type: FieldErrorType;
  readonly field: string;
  readonly body: string;
}

function make(type: FieldErrorType, at: FieldPath, value: unknown, detail: string): FieldError {
  let body = titles[type];
  if (!withoutValue.has(type) && value !== omitted) body += `: ${printValue(value)}`;
  if (detail !== '') body += `: ${shorten(detail)}`;
  return { type, field: at.toString(), body };
}

/** Longer values are cut in messages. */
const longestValue = 4 * 1024;

function printValue(value: unknown): string {
  if (typeof value === 'string') return quote(shorten(value, longestValue));
  if (value === undefined || value === null) return 'null';
  return typeof value === 'object' ? printObject(value) : String(value as number | boolean | bigint);
}

/** Many errors may show the same large value. */
let printed: { readonly value: WeakRef<object>; readonly text: string } | undefined;

function printObject(value: object): string {
  if (printed !== undefined && printed.value.deref() === value) return printed.text;
  const room = { characters: longestValue };
  const text = goJson(beginning(value, room) as object);
  if (room.characters >= 0) return shorten(text, longestValue);
  printed = { value: new WeakRef(value), text: `${startOf(text, longestValue)}…` };
  return printed.text;
}

/**
 * A copy of as much of a value as a message shows. There may be an error at each level of an object of megabytes, so that it must not be
 * written as a whole. The room is negative if something is missing.
 */
function beginning(value: unknown, room: { characters: number }): unknown {
  if (typeof value === 'string') {
    const shown = value.slice(0, Math.max(room.characters, 0));
    room.characters -= value.length + 2;
    return shown;
  }
  room.characters -= 2;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (let index = 0; index < value.length && room.characters >= 0; index++) items.push(beginning(value[index], room));
    return items;
  }
  const fields: [string, unknown][] = [];
  for (const key in value) {
    if (room.characters < 0) break;
    room.characters -= key.length + 2;
    fields.push([key.slice(0, longestValue), beginning((value as Record<string, unknown>)[key], room)]);
  }
  return Object.fromEntries(fields);
}

/**
 * Go prints maps by key, and structs in declaration order. Selectors are the only structs here whose fields come from clients in any order.
 */
const declared = ['matchLabels', 'matchExpressions', 'key', 'operator', 'values'];

function inOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const keys = Object.keys(value);
  const fields = value as Record<string, unknown>;
  const isMap = keys.every((key) => typeof fields[key] === 'string') && !keys.every((key) => /^[A-Z][A-Za-z]*$/.test(key));
  const isSelector = !isMap && keys.every((key) => declared.includes(key));
  if (!isMap && !isSelector) return value;
  const sorted = isMap ? keys.sort() : declared.filter((key) => Object.hasOwn(fields, key));
  return Object.fromEntries(sorted.map((key) => [key, fields[key]]));
}

/** JSON as Go writes it, with HTML characters escaped. */
function goJson(value: object): string {
  return JSON.stringify(value, inOrder).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const shortEscapes = new Map([
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['"', '\\"'],
  ['\\', '\\\\'],
]);

/** Most texts need no escapes. */
const plain = /^[ !#-[\]-~]*$/;

/** A string in Go's %q form. */
export function quote(text: string): string {
  if (plain.test(text)) return `"${text}"`;
  return `"${text.replace(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, escapeCharacter)}"`;
}

function escapeCharacter(character: string): string {
  const short = shortEscapes.get(character);
  if (short !== undefined) return short;
  const code = character.codePointAt(0)!;
  const digits = code.toString(16);
  return code < 0x80 ? `\\x${digits.padStart(2, '0')}` : code > 0xffff ? `\\U${digits.padStart(8, '0')}` : `\\u${digits.padStart(4, '0')}`;
}

export const invalid = (at: FieldPath, value: unknown, detail: string): FieldError => make('FieldValueInvalid', at, value, detail);
export const typeInvalid = (at: FieldPath, value: unknown, detail: string): FieldError => make('FieldValueTypeInvalid', at, value, detail);
export const required = (at: FieldPath, detail = ''): FieldError => make('FieldValueRequired', at, omitted, detail);
export const duplicate = (at: FieldPath, value: unknown): FieldError => make('FieldValueDuplicate', at, value, '');
export const notFound = (at: FieldPath, value: unknown): FieldError => make('FieldValueNotFound', at, value, '');
export const forbidden = (at: FieldPath, detail: string): FieldError => make('FieldValueForbidden', at, omitted, detail);
export const internal = (at: FieldPath, detail: string): FieldError => make('InternalError', at, omitted, detail);

/** A schema may allow thousands of values, and many fields may have others. */
const listings = new WeakMap<readonly string[], string>();

function listingOf(supported: readonly string[]): string {
  if (supported.length === 0) return '';
  let listing = listings.get(supported);
  if (listing === undefined) listings.set(supported, (listing = `supported values: ${supported.map(quote).join(', ')}`));
  return listing;
}

export function notSupported(at: FieldPath, value: unknown, supported: readonly string[]): FieldError {
  return make('FieldValueNotSupported', at, value, listingOf(supported));
}

export function tooLong(at: FieldPath, maxLength: number): FieldError {
  return make('FieldValueTooLong', at, omitted, `may not be more than ${maxLength} ${maxLength === 1 ? 'byte' : 'bytes'}`);
}

export function tooMany(at: FieldPath, actual: number, max: number): FieldError {
  return make('FieldValueTooMany', at, actual, `must have at most ${max} ${max === 1 ? 'item' : 'items'}`);
}
