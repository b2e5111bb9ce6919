import { type FieldError, type FieldPath, fieldError } from '@capstan/machinery';
import type { CompiledExpression } from './expression.ts';

/** What is wrong with an expression, as an error of the field that it stands in. `shown` is the field's value. */
export function expressionErrors(expression: CompiledExpression, path: FieldPath, shown = expression.source): FieldError[] {
  return expression.error === undefined ? [] : [fieldError.invalid(path, shown, expression.error)];
}
