import { spend, spendText } from '@capstan/machinery';
import { BOOL, DYN, INT, listOf, STRING } from '../types/type.ts';
import { ArrayList, elementsOf } from '../value/collections.ts';
import type { Int } from '../value/integer.ts';
import { printValue } from '../value/print.ts';
import { CelError, type ListValue, type Value } from '../value/value.ts';
import { formatText } from './format.ts';
import { type FunctionEntry, member, overload } from './function.ts';

function outOfRange(index: Int): CelError {
  return new CelError(`index out of range: ${index}`);
}

/** Most strings have only characters of the Basic Multilingual Plane, where UTF-16 units are characters. */
function hasSurrogates(text: string): boolean {
  return /[\ud800-\udfff]/.test(text);
}

function charactersOf(text: string): ArrayLike<string> & { slice(start?: number, end?: number): string | string[] } {
  if (!hasSurrogates(text)) return text;
  spend(text.length);
  return Array.from(text);
}

function join(slice: string | string[]): string {
  return typeof slice === 'string' ? slice : slice.join('');
}

function charAt(text: string, index: Int): Value {
  const characters = charactersOf(text);
  if (index < 0 || index > characters.length) return outOfRange(index);
  return characters[Number(index)] ?? '';
}

function indexOf(text: string, part: string, offset: Int = 0): Value {
  if (part === '') return offset;
  if (offset < 0) return outOfRange(offset);
  if (!hasSurrogates(text)) return Number(offset) >= text.length ? -1 : text.indexOf(part, Number(offset));
  spend(text.length * 4);
  const characters = Array.from(text);
  if (offset >= characters.length) return -1;
  const found = characters.slice(Number(offset)).join('').indexOf(part);
  return found < 0 ? -1 : Number(offset) + Array.from(characters.slice(Number(offset)).join('').slice(0, found)).length;
}

function lastIndexOf(text: string, part: string, offset?: Int): Value {
  const characters = charactersOf(text);
  if (part === '') return offset ?? characters.length;
  const from = offset ?? characters.length - 1;
  if (offset !== undefined && from < 0) return outOfRange(from);
  if (from >= characters.length) return -1;
  if (typeof characters === 'string') return from < 0 ? -1 : text.lastIndexOf(part, Number(from));
  const found = join(characters.slice(0, Number(from) + Array.from(part).length)).lastIndexOf(part);
  return found < 0 ? -1 : Array.from(text.slice(0, found)).length;
}

function substring(text: string, start: Int, end?: Int): Value {
  const characters = charactersOf(text);
  if (end !== undefined && start > end) return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  if (start < 0 || start > characters.length) return outOfRange(start);
  if (end !== undefined && (end < 0 || end > characters.length)) return outOfRange(end);
  return join(characters.slice(Number(start), end === undefined ? undefined : Number(end)));
}

/** Longer than any request. Strings that grow beyond it are rejected here, because their cost depends only on their input. */
const LONGEST_TEXT = 16 * 1024 * 1024;

function replace(text: string, from: string, to: string, limit: Int = -1): Value {
  const found = from === '' ? text.length + 1 : text.split(from).length - 1;
  const count = limit < 0 ? found : Math.min(found, Number(limit));
  if (text.length + count * to.length > LONGEST_TEXT) return new CelError('operation cancelled: actual cost limit exceeded');
  spend(count * 8);
  spendText(count * to.length);
  if (limit < 0) return from === '' ? replaceEmpty(text, to, Number.POSITIVE_INFINITY) : text.replaceAll(from, () => to);
  if (from === '') return replaceEmpty(text, to, Number(limit));
  const parts = text.split(from);
  const replaced = parts.slice(0, Number(limit) + 1);
  const rest = parts.slice(Number(limit) + 1);
  return [replaced.join(to), ...rest].join(from);
}

/** An empty string is found before each character and at the end. */
function replaceEmpty(text: string, to: string, limit: number): string {
  spend(text.length);
  let result = '';
  let count = 0;
  for (const character of text) {
    if (count++ < limit) result += to;
    result += character;
  }
  return count < limit ? result + to : result;
}

function split(text: string, separator: string, limit: Int = -1): Value {
  if (limit === 0) return ArrayList.empty;
  if (separator === '') spend(text.length);
  const parts = separator === '' ? Array.from(text) : text.split(separator);
  spend(parts.length);
  if (limit < 0 || parts.length <= limit) return new ArrayList(parts);
  const kept = Number(limit) - 1;
  return new ArrayList([...parts.slice(0, kept), parts.slice(kept).join(separator)]);
}

function joinList(list: ListValue, separator = ''): Value {
  const texts: string[] = [];
  for (const element of elementsOf(list)) {
    if (element instanceof CelError) return element;
    if (typeof element !== 'string') return new CelError(`join: invalid input: ${printValue(element)}`);
    spendText(element.length + separator.length);
    texts.push(element);
  }
  return texts.join(separator);
}

const quoted = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
]);

function quote(text: string): string {
  let result = '"';
  spend(text.length);
  for (const character of text.toWellFormed()) result += quoted.get(character) ?? character;
  return `${result}"`;
}

/** Unicode white space in Go: that of JavaScript, with U+0085 and without U+FEFF. */
function trim(text: string): string {
  spendText(text.length);
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text[start]!)) start++;
  while (end > start && isSpace(text[end - 1]!)) end--;
  return text.slice(start, end);
}

function isSpace(character: string): boolean {
  return character === '\u0085' || (character !== '\ufeff' && character.trim() === '');
}

const isAscii = (text: string): boolean => !/[\x80-\uffff]/.test(text);

/** Changes the case of the 26 letters that begin with this one, and of no others. */
function withCase(text: string, first: 'a' | 'A'): string {
  if (isAscii(text)) return first === 'A' ? text.toLowerCase() : text.toUpperCase();
  spend(text.length);
  const begin = first.charCodeAt(0);
  const units = new Uint16Array(text.length);
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    units[index] = unit >= begin && unit < begin + 26 ? unit ^ 32 : unit;
  }
  return Buffer.from(units.buffer).toString('utf16le');
}

const lower = (text: string): string => withCase(text, 'A');
const upper = (text: string): string => withCase(text, 'a');

export const strings: readonly FunctionEntry[] = [
  ['contains', [member('contains_string', [STRING, STRING], BOOL, (text: string, part: string) => text.includes(part))]],
  ['startsWith', [member('starts_with_string', [STRING, STRING], BOOL, (text: string, part: string) => text.startsWith(part))]],
  ['endsWith', [member('ends_with_string', [STRING, STRING], BOOL, (text: string, part: string) => text.endsWith(part))]],
  ['charAt', [member('string_char_at_int', [STRING, INT], STRING, charAt)]],
  [
    'indexOf',
    [
      member('string_index_of_string', [STRING, STRING], INT, indexOf),
      member('string_index_of_string_int', [STRING, STRING, INT], INT, indexOf),
    ],
  ],
  [
    'lastIndexOf',
    [
      member('string_last_index_of_string', [STRING, STRING], INT, lastIndexOf),
      member('string_last_index_of_string_int', [STRING, STRING, INT], INT, lastIndexOf),
    ],
  ],
  ['lowerAscii', [member('string_lower_ascii', [STRING], STRING, lower)]],
  ['upperAscii', [member('string_upper_ascii', [STRING], STRING, upper)]],
  [
    'replace',
    [
      member('string_replace_string_string', [STRING, STRING, STRING], STRING, replace),
      member('string_replace_string_string_int', [STRING, STRING, STRING, INT], STRING, replace),
    ],
  ],
  [
    'split',
    [
      member('string_split_string', [STRING, STRING], listOf(STRING), split),
      member('string_split_string_int', [STRING, STRING, INT], listOf(STRING), split),
    ],
  ],
  [
    'substring',
    [
      member('string_substring_int', [STRING, INT], STRING, substring),
      member('string_substring_int_int', [STRING, INT, INT], STRING, substring),
    ],
  ],
  ['trim', [member('string_trim', [STRING], STRING, trim)]],
  ['format', [member('string_format', [STRING, listOf(DYN)], STRING, formatText)]],
  ['strings.quote', [overload('strings_quote', [STRING], STRING, quote)]],
  [
    'join',
    [member('list_join', [listOf(STRING)], STRING, joinList), member('list_join_string', [listOf(STRING), STRING], STRING, joinList)],
  ],
];
