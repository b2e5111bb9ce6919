import type { ErrorList } from '../errors.ts';
import { FormatError, readClause } from '../library/format.ts';
import { compileRegex } from '../library/regex.ts';
import type { Call, Expression } from '../syntax/ast.ts';
import { children } from '../syntax/children.ts';
import { parseDuration } from '../value/duration.ts';
import { parseTimestamp } from '../value/timestamp.ts';
import { CelError } from '../value/value.ts';

/** Reports literal arguments that can only fail: durations, times, patterns and format strings. */
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
  const read = readers.get(call.name);
  // The pattern of `matches` is its last argument, whether it is called as a function or as a method.
  const argument = call.args.at(-1);
  if (read !== undefined && argument?.kind === 'literal' && typeof argument.value === 'string') {
    if (read(argument.value) === undefined) errors.add(`invalid ${call.name} argument`, argument.position);
  }
  if (call.name === 'format' && call.target?.kind === 'literal' && argument?.kind === 'list') {
    checkFormat(call.target, argument.elements, errors);
  }
}

function checkFormat(template: Expression & { kind: 'literal' }, args: readonly Expression[], errors: ErrorList): void {
  const text = template.value;
  if (typeof text !== 'string') return;
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
      checkArgument(clause.verb, argument, errors);
      next++;
      index += clause.length;
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      errors.add(error.message, template.position);
      return;
    }
  }
}

const fitting = new Map<string, { readonly kinds: readonly string[]; readonly rule: string }>([
  ['d', { kinds: ['int', 'uint'], rule: 'decimal clause can only be used on integers' }],
  ['f', { kinds: ['double', 'string'], rule: 'fixed-point clause can only be used on doubles' }],
  ['e', { kinds: ['double', 'string'], rule: 'scientific clause can only be used on doubles' }],
  ['b', { kinds: ['int', 'uint', 'bool'], rule: 'only integers and bools can be formatted as binary' }],
  ['x', { kinds: ['int', 'uint', 'string', 'bytes'], rule: 'only integers, byte buffers, and strings can be formatted as hex' }],
  ['X', { kinds: ['int', 'uint', 'string', 'bytes'], rule: 'only integers, byte buffers, and strings can be formatted as hex' }],
  ['o', { kinds: ['int', 'uint'], rule: 'octal clause can only be used on integers' }],
]);

function checkArgument(verb: string, argument: Expression, errors: ErrorList): void {
  const rule = fitting.get(verb);
  const kind = argument.type?.kind ?? 'dyn';
  if (rule === undefined || kind === 'dyn' || kind === 'error' || rule.kinds.includes(kind)) return;
  errors.add(`error during formatting: ${rule.rule}, was given ${kind}`, argument.position);
}
