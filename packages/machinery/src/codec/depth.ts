import type { Json } from '../json.ts';
import type { Parts } from '../work/parts.ts';

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
export function isNestedTooDeep(value: Json, levels = maxDepth): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isNestedTooDeep(item, levels - 1)) return true;
    return false;
  }
  for (const key in value) if (isNestedTooDeep(value[key]!, levels - 1)) return true;
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
