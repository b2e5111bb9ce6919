import type { Expression } from '../syntax/ast.ts';

const operators = new Set(['_[_]', '_[?_]', '_?._', '_?_:_']);

/** Names and what is selected from them cost one less as part of something larger. */
export function isAttribute(expression: Expression): boolean {
  if (expression.kind === 'identifier') return true;
  if (expression.kind === 'select') return !expression.test;
  return expression.kind === 'call' && operators.has(expression.name);
}
