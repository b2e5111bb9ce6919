import { type FieldError, type FieldPath, type Fields, fieldError, names as nameRules, textOf, textsOf } from '@capstan/machinery';

/** Validates the format of names that are set. */
export function nameErrors(names: Readonly<Fields>, at: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const label = (value: string, place: FieldPath): void => {
    const problems = nameRules.dns1035Label(value);
    if (problems.length > 0) errors.push(fieldError.invalid(place, value, problems.join(',')));
  };
  const mixedCase = (name: string): void => {
    const value = textOf(names[name]);
    const problems = value === '' ? [] : nameRules.dns1035Label(value.toLowerCase());
    const why = `may have mixed case, but should otherwise match: ${problems.join(',')}`;
    if (problems.length > 0) errors.push(fieldError.invalid(at.child(name), value, why));
  };
  for (const name of ['plural', 'singular']) if (textOf(names[name]) !== '') label(textOf(names[name]), at.child(name));
  mixedCase('kind');
  mixedCase('listKind');
  for (const [index, name] of textsOf(names['shortNames']).entries()) label(name, at.child('shortNames').index(index));
  if (textOf(names['kind']) !== '' && names['kind'] === names['listKind'])
    errors.push(fieldError.invalid(at.child('listKind'), names['listKind'], 'kind and listKind may not be the same'));
  for (const [index, name] of textsOf(names['categories']).entries()) label(name, at.child('categories').index(index));
  return errors;
}

/** Requires the names without which the kind cannot be served. */
export function requiredNameErrors(names: Readonly<Fields>, at: FieldPath): FieldError[] {
  return ['plural', 'singular', 'kind', 'listKind'].filter((name) => !names[name]).map((name) => fieldError.required(at.child(name)));
}
