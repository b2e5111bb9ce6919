import type { ErrorList } from '../errors.ts';
import { FormatError, readClause } from '../library/format.ts';
import { compileRegex } from '../library/regex.ts';
import type { Call, Expression } from '../syntax/ast.ts';
import { children } from '../syntax/children.ts';
import type { Type } from '../types/type.ts';
import { parseDuration } from '../value/duration.ts';
import { parseTimestamp } from '../value/timestamp.ts';
import { CelError } from '../value/value.ts';

/** Reports literal arguments that always fail: durations, times, patterns of the method `matches`, and format strings. */
export function checkLiterals(root: Expression, errors: ErrorList): void {
  const seen = new Set<Expression>();
  const visit = (expression: Expression): void => {
    if (seen.has(expression)) return;
    seen.add(expression);
    if (expression.kind === 'call') checkCall(expression, errors);
    for (const child of children(expression)) visit(child);
  };
  visit(root);
}

const readers = new Map<string, (text: string) => unknown>([
  ['duration', parseDuration],
  ['timestamp', parseTimestamp],
  ['matches', (pattern) => (compileRegex(pattern) instanceof CelError ? undefined : pattern)],
]);

function checkCall(call: Call, errors: ErrorList): void {
  const read = call.name === 'matches' && call.target === undefined ? undefined : readers.get(call.name);
  const argument = call.args.at(-1);
  if (read !== undefined && argument?.kind === 'literal' && typeof argument.value === 'string') {
    if (read(argument.value) === undefined) errors.add(`invalid ${call.name} argument`, argument.position);
  }
  if (call.name === 'format' && call.target?.kind === 'literal' && argument?.kind === 'list') {
    const text = call.target.value;
    if (typeof text === 'string') checkFormat({ text, args: argument.elements, position: call.position }, errors);
  }
}

interface FormatCall {
  readonly text: string;
  readonly args: readonly Expression[];
  readonly position: number;
}

function checkFormat({ text, args, position }: FormatCall, errors: ErrorList): void {
  let next = 0;
  for (let index = 0; index < text.length; index++) {
    if (text[index] !== '%') continue;
    if (text[index + 1] === '%') {
      index++;
      continue;
    }
    try {
      const clause = readClause(text, index + 1);
      const argument = args[next];
      if (argument === undefined) throw new FormatError(`index ${next} out of range`);
      if (!checkArgument(clause.verb, argument, errors)) return;
      next++;
      index += clause.length;
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      errors.add(error.message, position);
      return;
    }
  }
  if (args.length > next) errors.add(`too many arguments supplied to string.format (expected ${next}, got ${args.length})`, position);
}

const printable = ['string', 'bool', 'bytes', 'int', 'uint', 'double', 'map', 'list', 'type', 'duration', 'timestamp', 'null'];
const STRING_RULE = 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps';

const fitting = new Map<string, { readonly kinds: readonly string[]; readonly rule: string }>([
  ['s', { kinds: printable, rule: STRING_RULE }],
  ['d', { kinds: ['int', 'uint'], rule: 'decimal clause can only be used on integers' }],
  ['f', { kinds: ['double', 'string'], rule: 'fixed-point clause can only be used on doubles' }],
  ['e', { kinds: ['double', 'string'], rule: 'scientific clause can only be used on doubles' }],
  ['b', { kinds: ['int', 'uint', 'bool'], rule: 'only integers and bools can be formatted as binary' }],
  ['x', { kinds: ['int', 'uint', 'string', 'bytes'], rule: 'only integers, byte buffers, and strings can be formatted as hex' }],
  ['X', { kinds: ['int', 'uint', 'string', 'bytes'], rule: 'only integers, byte buffers, and strings can be formatted as hex' }],
  ['o', { kinds: ['int', 'uint'], rule: 'octal clause can only be used on integers' }],
]);

function checkArgument(verb: string, argument: Expression, errors: ErrorList): boolean {
  const rule = fitting.get(verb);
  const kind = argument.type?.kind ?? 'dyn';
  if (rule === undefined || kind === 'dyn' || kind === 'error' || rule.kinds.includes(kind)) return true;
  errors.add(`error during formatting: ${rule.rule}, was given ${typeName(argument.type!)}`, argument.position);
  return false;
}

/** The type without its parameters, as values report it. */
function typeName(type: Type): string {
  if (type.kind === 'timestamp') return 'google.protobuf.Timestamp';
  if (type.kind === 'duration') return 'google.protobuf.Duration';
  return 'name' in type ? type.name : type.kind;
}
