import { type FieldError, type FieldPath, fieldError, itemsOf, names, type Parts, textOf } from '@capstan/machinery';
import { declarationsFor } from './expressions/declarations.ts';
import { expressionErrors } from './expressions/errors.ts';
import { compileExpression, condition } from './expressions/expression.ts';

const limit = 64;

function conditionErrors(expression: string, path: FieldPath, hasParams: boolean): FieldError[] {
  const declarations = declarationsFor({ params: hasParams, authorizer: true });
  return expressionErrors(compileExpression(expression, declarations, condition), path);
}

/** Validates the conditions that a request must meet before a webhook or policy is called. Only conditions of policies may use `params`. */
export function* matchConditionErrors(value: unknown, path: FieldPath, hasParams = false): Parts<FieldError[]> {
  const conditions = itemsOf(value);
  const errors: FieldError[] = conditions.length > limit ? [fieldError.tooMany(path, conditions.length, limit)] : [];
  const seen = new Set<string>();
  for (const [index, item] of conditions.entries()) {
    yield;
    const at = path.index(index);
    const name = textOf(item['name']);
    const expression = textOf(item['expression']).trim();
    if (expression === '') errors.push(fieldError.required(at.child('expression')));
    else errors.push(...conditionErrors(expression, at.child('expression'), hasParams));
    if (name === '') errors.push(fieldError.required(at.child('name')));
    else for (const message of names.qualifiedName(name)) errors.push(fieldError.invalid(at.child('name'), name, message));
    if (name !== '' && seen.has(name)) errors.push(fieldError.duplicate(at.child('name'), name));
    seen.add(name);
  }
  return errors;
}
