import { compileRegex } from '../library/regex.ts';
import type { Call, Expression } from '../syntax/ast.ts';
import { children } from '../syntax/children.ts';
import { CelError, type Value } from '../value/value.ts';

const conversions = new Set(['bool', 'bytes', 'double', 'duration', 'int', 'string', 'timestamp', 'uint']);

/** The value of a conversion of a literal, such as `duration('1h')`; undefined for all else. */
export function constantConversion({ name, target, args, overloads }: Call): Value | undefined {
  const [argument] = args;
  if (target !== undefined || args.length !== 1 || argument?.kind !== 'literal' || !conversions.has(name)) return undefined;
  return overloads?.length === 1 ? overloads[0]!.call(argument.value) : undefined;
}

/** Why no program can be made of an expression that has passed all checks: a conversion or a pattern that can only fail. */
export function instantiationError(root: Expression): string | undefined {
  const seen = new Set<Expression>();
  const visit = (expression: Expression): string | undefined => {
    if (seen.has(expression)) return undefined;
    seen.add(expression);
    for (const child of children(expression)) {
      const broken = visit(child);
      if (broken !== undefined) return broken;
    }
    const outcome = expression.kind === 'call' ? (constantConversion(expression) ?? compiledPattern(expression)) : undefined;
    return outcome instanceof CelError ? outcome.message : undefined;
  };
  return visit(root);
}

function compiledPattern({ name, target, args }: Call): unknown {
  if (name !== 'matches' && name !== 'find' && name !== 'findAll') return undefined;
  const pattern = target === undefined ? args[1] : args[0];
  return pattern?.kind === 'literal' && typeof pattern.value === 'string' ? compileRegex(pattern.value) : undefined;
}
