import { type FieldError, type FieldPath, fieldError, names } from '@capstan/machinery';
import { itemsOf, textOf } from '../workloads/reading.ts';

const limit = 64;

/** Conditions that a request must meet before a webhook or policy is asked. What their expressions say is checked where they are compiled. */
export function matchConditionErrors(value: unknown, path: FieldPath): FieldError[] {
  const conditions = itemsOf(value);
  const errors: FieldError[] = conditions.length > limit ? [fieldError.tooMany(path, conditions.length, limit)] : [];
  const seen = new Set<string>();
  conditions.forEach((condition, index) => {
    const at = path.index(index);
    const name = textOf(condition['name']);
    if (textOf(condition['expression']).trim() === '') errors.push(fieldError.required(at.child('expression')));
    if (name === '') errors.push(fieldError.required(at.child('name')));
    else for (const message of names.qualifiedName(name)) errors.push(fieldError.invalid(at.child('name'), name, message));
    if (name !== '' && seen.has(name)) errors.push(fieldError.duplicate(at.child('name'), name));
    seen.add(name);
  });
  return errors;
}
