import type { Json, JsonObject } from '../json.ts';
import { endsPart, type Parts } from '../work/parts.ts';

/**
 * How deep objects and lists may be nested. Kubernetes accepts 10,000 levels. We walk objects recursively and in parts, which takes much stack
 * per level, so the limit is about half of what the stack holds: that leaves room for everything done with an object after it is decoded.
 */
export const maxDepth = 600;

/** As in messages of the YAML reader. Few callers go on with an object that is deeper than `maxDepth`. */
export const maxYamlDepth = 1000;

const quote = 0x22;
const backslash = 0x5c;

/** In characters: how much of a long text is looked through in one part. */
export const lookedThrough = 128 << 10;

/** How far a text was looked through, and what was found. */
interface Depth {
  at: number;
  depth: number;
}

/** Whether the text nests objects and lists too deeply. The text need not be valid. */
export function* isTooDeep(text: string): Parts<boolean> {
  // Each level takes two characters, so a shorter text cannot be too deep.
  if (text.length <= 2 * maxDepth) return false;
  const reached: Depth = { at: 0, depth: 0 };
  for (;;) {
    if (getsTooDeep(text, reached, reached.at + lookedThrough)) return true;
    if (reached.at >= text.length) return false;
    yield;
  }
}

function getsTooDeep(text: string, reached: Depth, until: number): boolean {
  const end = Math.min(until, text.length);
  let { at, depth } = reached;
  for (; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  reached.at = at;
  reached.depth = depth;
  return false;
}

/** The same check for a value assembled from parts, which may be deep although each part is shallow. */
export function* isNestedTooDeep(value: Json): Parts<boolean> {
  const later: Rest[] = [];
  let isDeep = exceeds(value, maxDepth, later);
  for (let rest = later.pop(); !isDeep && rest !== undefined; rest = later.pop()) {
    yield;
    isDeep = hasDeep(rest, later);
  }
  return isDeep;
}

/** The fields or items that are still to be looked at, from this one on. */
interface Rest {
  readonly value: JsonObject | Json[];
  /** The fields of an object. */
  readonly keys: readonly string[] | undefined;
  readonly from: number;
  readonly levels: number;
}

/** Leaves for later what would take this part too long. */
function exceeds(value: Json, levels: number, later: Rest[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || hasDeep({ value, keys: Array.isArray(value) ? undefined : Object.keys(value), from: 0, levels }, later);
}

function hasDeep(rest: Rest, later: Rest[]): boolean {
  const { value, keys, levels } = rest;
  const length = keys === undefined ? (value as Json[]).length : keys.length;
  for (let index = rest.from; index < length; index++) {
    if (endsPart()) {
      later.push({ ...rest, from: index });
      return false;
    }
    const inner = keys === undefined ? (value as Json[])[index]! : (value as JsonObject)[keys[index]!]!;
    if (exceeds(inner, levels - 1, later)) return true;
  }
  return false;
}

/** The index of the quote that closes the string opened at `start`; the length of the text if it is not closed. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = end - 1;
    while (text.charCodeAt(escapes) === backslash) escapes--;
    if ((end - 1 - escapes) % 2 === 0) return end;
  }
  return text.length;
}
