import type { Expression } from '../syntax/ast.ts';

const operators = new Set(['_[_]', '_[?_]', '_?._', '_?_:_']);

/** Names and selections from them cost one less as part of a larger expression. */
export function isAttribute(expression: Expression): boolean {
  if (expression.kind === 'identifier') return true;
  if (expression.kind === 'select') return !expression.test;
  return expression.kind === 'call' && operators.has(expression.name);
}

/** Whether an attribute costs one less as a branch of `?:` or inside brackets: a conditional itself costs nothing. */
export function isDiscounted(expression: Expression): boolean {
  return isAttribute(expression) && !(expression.kind === 'call' && expression.name === '_?_:_');
}
