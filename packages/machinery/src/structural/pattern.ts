import { RE2JS, RE2JSException } from 're2js';

/** A tenant's pattern: it runs in linear time, and finds a match anywhere in the text. */
export interface Pattern {
  matches(text: string): boolean;
}

const kept = new Map<string, Pattern>();
/** Patterns repeat within and between schemas. */
const mostKept = 2000;

/** Throws a PatternError that says what is wrong, in Go's words. */
export function compilePattern(text: string): Pattern {
  let pattern = kept.get(text);
  if (pattern === undefined) {
    pattern = compile(text);
    if (kept.size >= mostKept) kept.delete(kept.keys().next().value!);
    kept.set(text, pattern);
  }
  return pattern;
}

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

function compile(text: string): Pattern {
  try {
    const compiled = RE2JS.compile(text);
    return { matches: (input) => compiled.matcher(input).find() };
  } catch (error) {
    if (error instanceof RE2JSException) throw new PatternError(error.message);
    throw error;
  }
}
