import type { Json, JsonObject } from '../json.ts';
import type { ObjectType, Type } from '../schema/type.ts';
import { endsPart, type Parts } from '../work/parts.ts';
import { lookedThrough } from './depth.ts';
import { CodecError } from './error.ts';
import { goTypeName } from './go-type.ts';
import { parseInParts, stringifyInParts } from './json-parts.ts';

/** A number as written, kept where the notation matters and not only the value. */
class Literal {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/**
 * Matches numbers with a point or an exponent, or too many digits for a number, after a key or in a list. Strings match too, but rarely.
 */
const odd = /(?:":|[[,])\s*-?(?:[0-9]+[.eE]|[0-9]{16})/;

/** Of these, a match has none but its first character, so that a text may be cut in front of them. */
const boundary = /["[,]/g;

function* hasOdd(text: string): Parts<boolean> {
  for (let start = 0; ; ) {
    boundary.lastIndex = start + lookedThrough;
    const end = boundary.exec(text)?.index ?? text.length;
    if (odd.test(text.slice(start, end))) return true;
    if (end === text.length) return false;
    start = end;
    yield;
  }
}

/**
 * Rejects integers written as fractions, as Go does: `1.0` and `1e3` are not integers. JSON.parse does not tell them apart, so a text that
 * contains such numbers is parsed again.
 */
export function* checkLiterals(text: string, type: ObjectType): Parts<void> {
  if (!(yield* hasOdd(text))) return;
  const value = yield* readWith(text, (source) => new Literal(source));
  yield* walk(value, type, []);
}

function readWith(text: string, keep: (source: string) => unknown): Parts<Json> {
  const revive = (_key: string, value: unknown, { source = '' }: { source?: string }): unknown =>
    typeof value === 'number' && (/[.eE]/.test(source) || !Number.isSafeInteger(value)) ? keep(source) : value;
  const parse = (part: string): Json => JSON.parse(part, revive as (key: string, value: unknown) => unknown) as Json;
  return parseInParts(text, () => parse);
}

/** Private-use characters: no client gives them a meaning. */
const [markStart, markEnd] = ['\uE0F5', '\uE0F6'];
const mark = new RegExp(`"${markStart}([^${markEnd}]*)${markEnd}"`, 'g');

/** Replaces such numbers in a patch with strings that record their notation and survive merging. Undefined if there are none. */
export function* markLiterals(patch: string): Parts<string | undefined> {
  if (!(yield* hasOdd(patch))) return undefined;
  return yield* stringifyInParts(yield* readWith(patch, (source) => markStart + source + markEnd));
}

/** Describes an invalid marked number in the patched object; undefined if there is none. */
export function* markedProblem(value: Json, type: ObjectType): Parts<string | undefined> {
  try {
    yield* walk(value, type, []);
  } catch (error) {
    if (error instanceof CodecError) return error.message;
    throw error;
  }
  return undefined;
}

/** Replaces marked numbers in JSON with their original notation. */
export function unmarked(json: string): string {
  return json.replace(mark, '$1');
}

interface Step {
  readonly owner: ObjectType;
  readonly field: string;
}

function* walk(value: Json | Literal, type: Type, path: readonly Step[]): Parts<void> {
  if (endsPart()) yield;
  const source =
    value instanceof Literal ? value.source : typeof value === 'string' && value.startsWith(markStart) ? value.slice(1, -1) : undefined;
  if (source !== undefined) {
    if (type.kind === 'scalar' && refuses(source, type.scalar)) throw mismatch(source, type, path);
  } else if (Array.isArray(value)) {
    if (type.kind === 'list') for (const item of value) yield* walk(item, type.items, path);
  } else if (typeof value === 'object' && value !== null && !(value instanceof Literal)) {
    if (type.kind === 'map') for (const item of Object.values(value)) yield* walk(item, type.values, path);
    else if (type.kind === 'object') yield* walkFields(value, type, path);
  }
}

function* walkFields(value: JsonObject, type: ObjectType, path: readonly Step[]): Parts<void> {
  for (const key in value) {
    const field = type.fields.get(key);
    if (field !== undefined) yield* walk(value[key]!, field.type, [...path, { owner: type, field: key }]);
  }
}

function refuses(source: string, scalar: string): boolean {
  if (scalar !== 'int32' && scalar !== 'int64') return false;
  if (!/^-?[0-9]+$/.test(source)) return true;
  const bits = scalar === 'int32' ? 32 : 64;
  return BigInt.asIntN(bits, BigInt(source)) !== BigInt(source);
}

function mismatch(source: string, type: Type, path: readonly Step[]): CodecError {
  const owner = path.at(-1)!.owner.name;
  const place = `${owner.slice(owner.lastIndexOf('.') + 1)}.${path.map(({ field }) => field).join('.')}`;
  return new CodecError(`json: cannot unmarshal number ${source} into Go struct field ${place} of type ${goTypeName(type)}`);
}
