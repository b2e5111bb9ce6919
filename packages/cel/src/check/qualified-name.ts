import type { Expression } from '../syntax/ast.ts';

/** `a.b.c` for a chain of selections that starts at a name; undefined for any other expression. */
export function qualifiedName(expression: Expression): string | undefined {
  const parts: string[] = [];
  let current = expression;
  while (current.kind === 'select' && !current.test) {
    parts.push(current.field);
    current = current.operand;
  }
  if (current.kind !== 'identifier') return undefined;
  parts.push(current.name);
  return parts.reverse().join('.');
}
