import { RE2JS, RE2JSException } from 're2js';
import { Automaton } from './automaton.ts';
import { machineOf } from './machine.ts';
import { readPattern } from './syntax.ts';

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

/** Names of groups may repeat, counts may be too many: large ones, or one within another. */
const mayBeRefused = /\(\?P?<|\{\d{3}|\{.*\{/s;

function compile(text: string): Pattern {
  const automaton = automatonOf(text);
  if (automaton === undefined) {
    const compiled = compileRe2(text);
    return { matches: (input) => compiled.test(input) };
  }
  // A pattern that the automaton can read is one that RE2 can read, unless it is one of these: RE2 is asked only when a text is too much for the automaton.
  let compiled = mayBeRefused.test(text) ? compileRe2(text) : undefined;
  return { matches: (input) => automaton.matches(input) ?? (compiled ??= compileRe2(text)).test(input) };
}

function compileRe2(text: string): RE2JS {
  try {
    return RE2JS.compile(text);
  } catch (error) {
    if (error instanceof RE2JSException) throw new PatternError(error.message);
    throw error;
  }
}

/** Most patterns are plain: for them there is something faster that answers the same. */
function automatonOf(text: string): Automaton | undefined {
  const node = readPattern(text);
  const machine = node === undefined ? undefined : machineOf(node);
  return machine === undefined ? undefined : Automaton.of(machine);
}
