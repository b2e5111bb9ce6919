import { RE2JS, RE2JSException } from 're2js';
import { spend, spendText } from '../work/steps.ts';
import { Automaton } from './automaton.ts';
import { machineOf } from './machine.ts';
import { expandedSize } from './size.ts';
import { readPattern } from './syntax.ts';

/** A tenant's pattern: it runs in linear time, and matches anywhere in the text. */
export interface Pattern {
  matches(text: string): boolean;
}

const kept = new Map<string, Pattern>();
/** Compiled patterns are cached, because they repeat within and between schemas. */
const mostKept = 2000;

/** Throws a PatternError with Go's message. */
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

/** Group names may repeat, and repetitions may be too large or nested too often. */
const mayBeRefused = /\(\?P?<|\{\d{3}|\{.*\{/s;

function compile(text: string): Pattern {
  const automaton = automatonOf(text);
  if (automaton === undefined) {
    const compiled = compileRe2(text);
    return { matches: (input) => searched(compiled, input) };
  }
  // RE2 accepts every pattern that the automaton accepts, except for these. Otherwise RE2 is only compiled for a text that the automaton
  // cannot handle.
  let compiled = mayBeRefused.test(text) ? compileRe2(text) : undefined;
  return {
    matches(input) {
      spendText(input.length);
      return automaton.matches(input) ?? searched((compiled ??= compileRe2(text)), input);
    },
  };
}

/** Steps for each instruction of a program and each character of a text, while the automaton of RE2 is still being built. */
const stepsPerInstruction = 4;

function searched(compiled: RE2JS, input: string): boolean {
  spend(input.length * compiled.programSize() * stepsPerInstruction);
  return compiled.test(input);
}

/** Larger programs take milliseconds to build. */
const mostInstructions = 20_000;
const stepsToBuild = 100;

/** The steps that it takes to compile a pattern that is not known. */
export function patternSteps(text: string): number {
  return expandedSize(text) * stepsToBuild;
}

/** Compiles any pattern of RE2. Throws a PatternError with Go's message. */
export function compileRe2(text: string): RE2JS {
  if (expandedSize(text) > mostInstructions) throw new PatternError('error parsing regexp: expression too large');
  try {
    return RE2JS.compile(text);
  } catch (error) {
    if (error instanceof RE2JSException) throw new PatternError(error.message);
    throw error;
  }
}

/** Most patterns are simple enough for the automaton, which is faster and gives the same results. */
function automatonOf(text: string): Automaton | undefined {
  const node = readPattern(text);
  const machine = node === undefined ? undefined : machineOf(node);
  return machine === undefined ? undefined : Automaton.of(machine);
}
