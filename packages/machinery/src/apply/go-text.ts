import type { Json } from '../json.ts';

const special = /[<>&\u2028\u2029]/;
const specials = /[<>&\u2028\u2029]/g;

/** JSON text as Go writes it: with `<`, `>`, `&` and the line separators escaped. */
export function quoteText(json: string): string {
  return special.test(json) ? json.replace(specials, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`) : json;
}

/** A decoded JSON value as Go's `%v` prints it: `map[a:1 b:[x y]]`. */
export function printValue(value: Json): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(printValue).join(' ')}]`;
  if (typeof value !== 'object') return String(value);
  const parts = Object.keys(value)
    .sort()
    .map((key) => `${key}:${printValue(value[key]!)}`);
  return `map[${parts.join(' ')}]`;
}

/** A decoded JSON value as Go's `%#v` prints it: `map[string]interface {}{"a":1}`. */
export function printSyntax(value: Json): string {
  if (value === null) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(printSyntax).join(', ')}}`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object') return String(value);
  const parts = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${printSyntax(value[key]!)}`);
  return `map[string]interface {}{${parts.join(', ')}}`;
}

/** Represents a Go value that JSON does not have in a configuration, so that an error can describe it. */
export class GoValue {
  /** `uint64` */
  readonly type: string;
  /** As `%v` prints it. */
  readonly printed: string;
  /** As `%#v` prints it. */
  readonly syntax: string;

  constructor(type: string, printed: string, syntax: string) {
    this.type = type;
    this.printed = printed;
    this.syntax = syntax;
  }
}

/** The Go type of a decoded JSON value. */
export function goTypeName(value: Json): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64';
    case 'bigint':
      return 'int64';
    default:
      return 'map[string]interface {}';
  }
}
