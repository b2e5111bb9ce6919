import { countKeys } from '../codec/json-syntax.ts';
import { strictProblems } from '../codec/strict.ts';
import type { Json } from '../json.ts';
import type { ObjectType } from '../schema/type.ts';

/** The fields that stand in the text twice: parsing keeps the last one of them. The text is what the value was parsed from. */
export function duplicateFields(text: string, value: Json, type: ObjectType): string[] {
  // A key that is there twice is one key less after parsing. Only then is it worth looking for it.
  if (countKeys(text) === keysOf(value)) return [];
  return strictProblems(text, type).filter((problem) => problem.startsWith('duplicate field'));
}

function keysOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += keysOf(item);
    return count;
  }
  for (const key in value) count += 1 + keysOf(value[key]!);
  return count;
}
