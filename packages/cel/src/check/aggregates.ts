import type { ErrorList } from '../errors.ts';
import type { Expression } from '../syntax/ast.ts';
import { children } from '../syntax/children.ts';
import { printType, sameType, type Type, unwrapOptional } from '../types/type.ts';

/** Reports list and map literals whose elements differ in type, except in the arguments of `format`. */
export function checkAggregates(root: Expression, errors: ErrorList): void {
  const seen = new Set<Expression>();
  const visit = (expression: Expression): void => {
    if (seen.has(expression)) return;
    seen.add(expression);
    if (expression.kind === 'call' && expression.name === 'format') return;
    if (expression.kind === 'list') checkElements(expression, errors);
    if (expression.kind === 'map') checkEntries(expression, errors);
    for (const child of children(expression)) visit(child);
  };
  visit(root);
}

function checkElements({ elements, optional }: Expression & { kind: 'list' }, errors: ErrorList): void {
  let first: Type | undefined;
  for (const [index, element] of elements.entries()) {
    const type = optional.has(index) ? unwrapOptional(element.type!) : element.type!;
    first ??= type;
    if (sameType(first, type)) continue;
    report(first, type, { position: element.position, errors });
    return;
  }
}

function checkEntries({ entries }: Expression & { kind: 'map' }, errors: ErrorList): void {
  let first: { key: Type; value: Type } | undefined;
  for (const entry of entries) {
    const key = entry.key.type!;
    const value = entry.optional ? unwrapOptional(entry.value.type!) : entry.value.type!;
    first ??= { key, value };
    if (!sameType(first.key, key)) report(first.key, key, { position: entry.key.position, errors });
    if (!sameType(first.value, value)) report(first.value, value, { position: entry.value.position, errors });
  }
}

function report(expected: Type, found: Type, { position, errors }: { position: number; errors: ErrorList }): void {
  errors.add(`expected type '${printType(expected)}' but found '${printType(found)}'`, position);
}
