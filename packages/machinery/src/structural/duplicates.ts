import { countKeys } from '../codec/json-syntax.ts';
import { repeatedFields } from '../codec/strict.ts';
import type { Json } from '../json.ts';

/** The fields that stand in the text twice: parsing keeps the last one of them. The text is what the value was parsed from. */
export function duplicateFields(text: string, value: Json): string[] {
  // A key that is there twice is one key less after parsing. Only then is it worth looking for it.
  if (countKeys(text) === keysOf(value)) return [];
  return repeatedFields(text);
}

/** Without recursion: it may be as deep as the text allows. */
function keysOf(value: Json): number {
  let count = 0;
  const open: Json[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const values = Array.isArray(next) ? next : Object.values(next);
    if (values !== next) count += values.length;
    for (const child of values) if (typeof child === 'object' && child !== null) open.push(child);
  }
  return count;
}
