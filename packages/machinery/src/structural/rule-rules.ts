import type { FieldError } from '../field/error.ts';
import * as fieldError from '../field/error.ts';
import type { FieldPath } from '../field/path.ts';
import { BadFieldReference, resolveFieldReference } from './field-reference.ts';
import type { Schema, ValidationRule } from './schema.ts';

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

/** The requirements on CEL rules, except that their expressions compile. */
export function ruleRules(schema: Schema, at: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, rule] of schema.rules.entries()) checkRule(schema, rule, at.child('x-kubernetes-validations').index(index), errors);
  return errors;
}

function checkRule(
  schema: Schema,
  { rule, message, messageExpression, reason, fieldPath }: ValidationRule,
  at: FieldPath,
  errors: FieldError[],
): void {
  if (rule.trim() === '') errors.push(fieldError.required(at.child('rule'), 'rule is not specified'));
  else if (message !== '' && message.trim() === '')
    errors.push(fieldError.invalid(at.child('message'), message, 'must be non-empty if specified'));
  else if (hasLineBreak(message.trim())) errors.push(fieldError.invalid(at.child('message'), message, 'must not contain line breaks'));
  else if (hasLineBreak(rule.trim()) && message.trim() === '')
    errors.push(fieldError.required(at.child('message'), 'message must be specified if rule contains line breaks'));
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.push(fieldError.required(at.child('messageExpression'), 'messageExpression must be non-empty if specified'));
  if (reason !== undefined && !reasons.includes(reason)) errors.push(fieldError.notSupported(at.child('reason'), reason, reasons));
  if (fieldPath === '') return;
  if (fieldPath.trim() === '') errors.push(fieldError.invalid(at.child('fieldPath'), fieldPath, 'must be non-empty if specified'));
  if (hasLineBreak(fieldPath)) errors.push(fieldError.invalid(at.child('fieldPath'), fieldPath, 'must not contain line breaks'));
  if (!leadsSomewhere(schema, fieldPath)) errors.push(fieldError.invalid(at.child('fieldPath'), fieldPath, 'must be a valid path'));
}

function leadsSomewhere(schema: Schema, path: string): boolean {
  try {
    resolveFieldReference(path, schema, { brackets: true });
    return true;
  } catch (error) {
    if (error instanceof BadFieldReference) return false;
    throw error;
  }
}

function hasLineBreak(text: string): boolean {
  return /[\n\r]/.test(text);
}
