import type { Json } from '../json.ts';

/**
 * How deep objects and lists may be nested. Kubernetes takes 10,000 levels; we follow them by calling ourselves, level by level, and nobody has to find out in
 * the middle of a request that the stack is used up: half of this leaves room for whatever is done to an object after it was read.
 */
export const maxDepth = 2000;

/** YAML is read with more of the stack for each level. */
export const maxYamlDepth = 1000;

const quote = 0x22;
const backslash = 0x5c;

/** Whether the text opens more objects and lists than may be open at once. It need not be valid. */
export function isTooDeep(text: string): boolean {
  // Each level takes two characters: what is shorter cannot be too deep.
  if (text.length <= 2 * maxDepth) return false;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === quote) index = endOfString(text, index);
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}

/** The same for what was read already, and then put together from parts: each may be shallow, and the whole deep. */
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

/** The index of the quote that closes the string opened at `start`; the end of the text when none does. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = end - 1;
    while (text.charCodeAt(escapes) === backslash) escapes--;
    if ((end - 1 - escapes) % 2 === 0) return end;
  }
  return text.length;
}
