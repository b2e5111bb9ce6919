import { type FieldError, type FieldPath, fieldError, names } from '@capstan/machinery';
import { Findings } from './findings.ts';
import { isAbsent, itemsOf, numberOf, textOf } from './reading.ts';

const longestReason = 1024;
const longestMessage = 32 * 1024;
const reasonPattern = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const reason = new RegExp(`^${reasonPattern}$`);
const badReason = names.patternMessage(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  reasonPattern,
  'my_name',
  'MY_NAME',
  'MyName',
  'ReasonA,ReasonB',
  'ReasonA:ReasonB',
);

/** Conditions of the common form: one of each type, and each says since when and why. */
export function conditionErrors(conditions: unknown, at: FieldPath): FieldError[] {
  const found = new Findings();
  const seen = new Set<string>();
  for (const [index, condition] of itemsOf(conditions).entries()) {
    const path = at.index(index);
    const type = textOf(condition['type']);
    if (seen.has(type)) found.duplicate(path.child('type'), type);
    seen.add(type);
    found.invalid(path.child('type'), type, names.qualifiedName(type));
    const status = textOf(condition['status']);
    if (!['True', 'False', 'Unknown'].includes(status)) found.notSupported(path.child('status'), status, ['False', 'True', 'Unknown']);
    const generation = condition['observedGeneration'];
    if (numberOf(generation) < 0) found.invalid(path.child('observedGeneration'), generation, 'must be greater than or equal to zero');
    if (isAbsent(condition['lastTransitionTime'])) found.required(path.child('lastTransitionTime'));
    const why = textOf(condition['reason']);
    if (why === '') found.required(path.child('reason'));
    else if (!reason.test(why)) found.invalid(path.child('reason'), why, badReason);
    if (Buffer.byteLength(why) > longestReason) found.add([fieldError.tooLong(path.child('reason'), longestReason)]);
    if (Buffer.byteLength(textOf(condition['message'])) > longestMessage)
      found.add([fieldError.tooLong(path.child('message'), longestMessage)]);
  }
  return found.errors;
}
