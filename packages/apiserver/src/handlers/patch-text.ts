import { isObject, type Json, type JsonObject, parseExact, sameJson, type Type } from '@capstan/machinery';
import { fieldOrder } from './field-order.ts';
import type { PatchKind } from './patch.ts';

/** A patch and its result. */
export interface Attempt {
  readonly kind: PatchKind;
  readonly patch: string;
  readonly before: JsonObject;
  readonly result: JsonObject;
  /** Undefined for kinds without a Go type. */
  readonly type: Type | undefined;
}

/**
 * The result of a patch as Kubernetes shows it: with fields in declaration order where the patch did not reach, and with sorted
 * keys where it did. For a strategic patch it shows only the patch.
 */
export function shownResult({ kind, patch, before, result, type }: Attempt): string {
  if (kind === 'strategic') return printed(parseExact(patch));
  if (type === undefined) return escaped(sortedText(result));
  const reached = kind === 'merge' ? reachedByMerge(parseExact(patch), before) : reachedByOperations(parseExact(patch));
  const fresh = kind === 'merge' ? sortedText : (value: Json): string => JSON.stringify(value);
  return escaped(textOf({ value: result, before, type }, reached ?? new Map(), fresh));
}

/** Objects that a patch went through, by the keys that lead to them. */
type Reached = Map<string, Reached>;

interface Part {
  readonly value: Json;
  readonly before: Json | undefined;
  readonly type: Type | undefined;
}

function reachedByMerge(patch: Json | undefined, before: Json | undefined): Reached | undefined {
  if (!isObject(patch) || !isObject(before)) return undefined;
  const reached: Reached = new Map();
  for (const key of Object.keys(patch)) {
    const below = reachedByMerge(patch[key], Object.hasOwn(before, key) ? before[key] : undefined);
    if (below !== undefined) reached.set(key, below);
  }
  return reached;
}

function reachedByOperations(patch: Json): Reached {
  const reached: Reached = new Map();
  for (const operation of Array.isArray(patch) ? patch : []) {
    if (!isObject(operation)) continue;
    for (const pointer of [operation['path'], operation['from']]) {
      if (typeof pointer !== 'string') continue;
      let at = reached;
      for (const part of pointer.split('/').slice(1, -1)) {
        const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
        let below = at.get(key);
        if (below === undefined) at.set(key, (below = new Map()));
        at = below;
      }
    }
  }
  return reached;
}

function textOf({ value, before, type }: Part, reached: Reached | undefined, fresh: (value: Json) => string): string {
  if (reached === undefined) return before !== undefined && sameJson(value, before) ? typedText(value, type) : fresh(value);
  const partOf = (key: string): Part => ({
    value: (value as JsonObject)[key]!,
    before: typeof before === 'object' && before !== null && Object.hasOwn(before, key) ? (before as JsonObject)[key] : undefined,
    type: memberType(type, key),
  });
  if (Array.isArray(value)) {
    return `[${value.map((_, at) => textOf(partOf(String(at)), reached.get(String(at)), fresh)).join(',')}]`;
  }
  if (!isObject(value)) return fresh(value);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${textOf(partOf(key), reached.get(key), fresh)}`).join(',')}}`;
}

/** Encodes a value of a type as Go does: fields in declaration order, keys of maps sorted. */
function typedText(value: Json, type: Type | undefined): string {
  if (Array.isArray(value)) return `[${value.map((item) => typedText(item, memberType(type, ''))).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  if (type?.kind === 'any') return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  if (type?.kind === 'object') {
    const order = fieldOrder(type);
    keys.sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
  }
  return `{${keys.map((key) => `${JSON.stringify(key)}:${typedText(value[key]!, memberType(type, key))}`).join(',')}}`;
}

function memberType(type: Type | undefined, key: string): Type | undefined {
  if (type?.kind === 'object') return type.fields.get(key)?.type;
  if (type?.kind === 'list') return type.items;
  return type?.kind === 'map' ? type.values : undefined;
}

function sortedText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value).sort();
  return `{${fields.map((key) => `${JSON.stringify(key)}:${sortedText(value[key]!)}`).join(',')}}`;
}

/** Escapes HTML characters. */
function escaped(text: string): string {
  return text.replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Prints an untyped value as Go does: `map[a:1 b:[x y]]`. */
function printed(value: Json): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(printed).join(' ')}]`;
  if (!isObject(value)) return String(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${printed(value[key]!)}`).join(' ')}]`;
}
