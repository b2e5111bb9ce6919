import { type FieldError, FieldPath, fieldError, fieldsOf, itemsOf, type KubeObject, textOf } from '@capstan/machinery';

/** Every condition needs a type, and types must be unique. */
export function conditionErrors(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  itemsOf(fieldsOf(object['status'])['conditions']).forEach((condition, index) => {
    const path = FieldPath.of('status', 'conditions').index(index).child('type');
    const type = textOf(condition['type']);
    if (seen.has(type)) errors.push(fieldError.duplicate(path, type));
    if (type === '') errors.push(fieldError.required(path));
    seen.add(type);
  });
  return errors;
}
