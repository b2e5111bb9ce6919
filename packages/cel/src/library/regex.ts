import { compilePattern, compileRe2, matchesIn, PatternError } from '@capstan/machinery';
import type { RE2JS } from 're2js';
import { BOOL, INT, listOf, STRING } from '../types/type.ts';
import { ArrayList } from '../value/collections.ts';
import type { Int } from '../value/integer.ts';
import { CelError, type Value } from '../value/value.ts';
import { type FunctionEntry, member, overload } from './function.ts';

const MAXIMUM_KEPT = 256;
const kept = new Map<string, RE2JS | CelError>();

/** A compiled pattern. Recently used ones are cached, because most rules contain theirs as a literal. */
export function compileRegex(pattern: string): RE2JS | CelError {
  const known = kept.get(pattern);
  if (known !== undefined) return known;
  const compiled = tryCompile(pattern);
  if (kept.size >= MAXIMUM_KEPT) kept.delete(kept.keys().next().value!);
  kept.set(pattern, compiled);
  return compiled;
}

function tryCompile(pattern: string): RE2JS | CelError {
  try {
    return compileRe2(pattern);
  } catch (error) {
    if (error instanceof PatternError) return new CelError(error.message);
    throw error;
  }
}

function matches(text: string, pattern: string): Value {
  try {
    return compilePattern(pattern).matches(text);
  } catch (error) {
    if (error instanceof PatternError) return new CelError(error.message);
    throw error;
  }
}

function find(text: string, pattern: string): Value {
  const regex = compileRegex(pattern);
  if (regex instanceof CelError) return new CelError(`Illegal regex: ${regex.message}`);
  for (const match of matchesIn(regex, text)) return match;
  return '';
}

function findAll(text: string, pattern: string, limit: Int = -1): Value {
  const regex = compileRegex(pattern);
  if (regex instanceof CelError) return new CelError(`Illegal regex: ${regex.message}`);
  const found: string[] = [];
  if (limit === 0) return new ArrayList(found);
  for (const match of matchesIn(regex, text)) {
    found.push(match);
    if (limit > 0 && found.length >= limit) break;
  }
  return new ArrayList(found);
}

export const regex: readonly FunctionEntry[] = [
  ['matches', [overload('matches', [STRING, STRING], BOOL, matches), member('matches_string', [STRING, STRING], BOOL, matches)]],
  ['find', [member('string_find_string', [STRING, STRING], STRING, find)]],
  [
    'findAll',
    [
      member('string_find_all_string', [STRING, STRING], listOf(STRING), findAll),
      member('string_find_all_string_int', [STRING, STRING, INT], listOf(STRING), findAll),
    ],
  ],
];
