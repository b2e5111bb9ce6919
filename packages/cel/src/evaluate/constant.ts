import { patternSteps, spend } from '@capstan/machinery';
import { compileRegex } from '../library/regex.ts';
import type { Call, Expression, ListLiteral, MapLiteral } from '../syntax/ast.ts';
import { children } from '../syntax/children.ts';
import { ArrayList, EntryMap, keyOf } from '../value/collections.ts';
import { CelError, type ListValue, type MapValue, type Value } from '../value/value.ts';

const conversions = new Set(['bool', 'bytes', 'double', 'duration', 'int', 'string', 'timestamp', 'type', 'uint']);

/** The value of a converted literal, such as `duration('1h')`; undefined for any other call. */
export function constantConversion({ name, target, args, overloads }: Call): Value | undefined {
  const [argument] = args;
  if (target !== undefined || argument === undefined || args.length !== 1 || !conversions.has(name) || overloads?.length !== 1)
    return undefined;
  const value = constantOf(argument);
  return value === undefined ? undefined : overloads[0]!.call(value);
}

/** The value of a list of literals, which is built once and costs nothing; undefined for other lists. */
export function constantList({ elements, optional }: ListLiteral): ListValue | undefined {
  if (optional.size > 0) return undefined;
  const values = elements.map(constantOf);
  return values.includes(undefined) ? undefined : new ArrayList(values as Value[]);
}

export function constantMap({ entries }: MapLiteral): MapValue | undefined {
  const values: [Value, Value][] = [];
  for (const { key, value, optional } of entries) {
    const [constantKey, constantValue] = [constantOf(key), constantOf(value)];
    if (optional || constantKey === undefined || constantValue === undefined || keyOf(constantKey) === undefined) return undefined;
    values.push([constantKey, constantValue]);
  }
  return new EntryMap(values);
}

export function constantOf(expression: Expression): Value | undefined {
  if (expression.kind === 'literal') return expression.value;
  if (expression.kind === 'list') return constantList(expression);
  if (expression.kind === 'map') return constantMap(expression);
  const converted = expression.kind === 'call' ? constantConversion(expression) : undefined;
  return converted instanceof CelError ? undefined : converted;
}

/** Why a checked expression cannot become a program: it contains a conversion or a pattern that always fails. */
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
  if (pattern?.kind !== 'literal' || typeof pattern.value !== 'string') return undefined;
  spend(patternSteps(pattern.value));
  return compileRegex(pattern.value);
}
