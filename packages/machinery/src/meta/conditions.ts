import { duplicate, type FieldError, invalid, notSupported, required, tooLong } from '../field/error.ts';
import type { FieldPath } from '../field/path.ts';
import { patternMessage, qualifiedName } from './names.ts';

/** One of an object's `status.conditions`, as a client sent it. */
export interface ConditionObject {
  readonly type?: string;
  readonly status?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
}

const reasonLimit = 1024;
const messageLimit = 32 * 1024;
const statuses = ['False', 'True', 'Unknown'];
const reasonPattern = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const reasonExpression = new RegExp(`^${reasonPattern}$`);
const reasonMessage = patternMessage(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  reasonPattern,
  'my_name',
  'MY_NAME',
  'MyName',
  'ReasonA,ReasonB',
  'ReasonA:ReasonB',
);

export function validateConditions(conditions: readonly ConditionObject[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  conditions.forEach((condition, index) => {
    const type = condition.type ?? '';
    if (seen.has(type)) errors.push(duplicate(path.index(index).child('type'), type));
    seen.add(type);
    errors.push(...conditionErrors(condition, path.index(index)));
  });
  return errors;
}

function conditionErrors(condition: ConditionObject, path: FieldPath): FieldError[] {
  const { type = '', status = '', observedGeneration = 0, message = '' } = condition;
  const errors = qualifiedName(type).map((problem) => invalid(path.child('type'), type, problem));
  if (!statuses.includes(status)) errors.push(notSupported(path.child('status'), status, statuses));
  if (observedGeneration < 0) {
    errors.push(invalid(path.child('observedGeneration'), observedGeneration, 'must be greater than or equal to zero'));
  }
  if (!condition.lastTransitionTime) errors.push(required(path.child('lastTransitionTime')));
  errors.push(...reasonErrors(condition.reason ?? '', path.child('reason')));
  if (Buffer.byteLength(message) > messageLimit) errors.push(tooLong(path.child('message'), messageLimit));
  return errors;
}

function reasonErrors(reason: string, path: FieldPath): FieldError[] {
  if (reason === '') return [required(path)];
  const errors: FieldError[] = [];
  if (!reasonExpression.test(reason)) errors.push(invalid(path, reason, reasonMessage));
  if (Buffer.byteLength(reason) > reasonLimit) errors.push(tooLong(path, reasonLimit));
  return errors;
}
