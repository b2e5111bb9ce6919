import { type FieldError, type FieldPath, fieldError } from '@capstan/machinery';
import type { CompiledExpression } from './expression.ts';

/** Reports a compilation error on the field that holds the expression. `shown` is the field's value. */
export function expressionErrors(expression: CompiledExpression, path: FieldPath, shown = expression.source): FieldError[] {
  return expression.error === undefined ? [] : [fieldError.invalid(path, shown, expression.error)];
}
