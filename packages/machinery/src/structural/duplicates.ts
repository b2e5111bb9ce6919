import { countKeys } from '../codec/json-syntax.ts';
import { repeatedFields } from '../codec/strict.ts';
import type { Json } from '../json.ts';
import { endsPart, type Parts } from '../work/parts.ts';

/** The fields that occur twice in the text that the value was parsed from. Parsing keeps only the last. */
export function* duplicateFields(text: string, value: Json): Parts<string[]> {
  const inText = yield* countKeys(text);
  yield;
  // Parsing drops a duplicate key, so fewer keys than in the text mean duplicates. Only then is the slow search worth it.
  if (inText === (yield* keysOf(value))) return [];
  return repeatedFields(text);
}

/** Not recursive: the value may be as deep as the text allows. */
function* keysOf(value: Json): Parts<number> {
  let count = 0;
  const open: Json[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const values = Array.isArray(next) ? next : Object.values(next);
    if (values !== next) count += values.length;
    for (const child of values) if (typeof child === 'object' && child !== null) open.push(child);
    if (endsPart()) yield;
  }
  return count;
}
