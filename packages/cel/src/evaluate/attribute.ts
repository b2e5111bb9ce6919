import type { Expression } from '../syntax/ast.ts';

const operators = new Set(['_[_]', '_[?_]', '_?._', '_?_:_']);

/** Names and what is selected from them cost one less as part of something larger. */
export function isAttribute(expression: Expression): boolean {
  if (expression.kind === 'identifier') return true;
  if (expression.kind === 'select') return !expression.test;
  return expression.kind === 'call' && operators.has(expression.name);
}

/** Whether a part that is an attribute costs one less where it is a branch of `?:` or stands between brackets: a choice has no cost itself. */
export function isDiscounted(expression: Expression): boolean {
  return isAttribute(expression) && !(expression.kind === 'call' && expression.name === '_?_:_');
}
