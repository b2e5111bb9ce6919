import { type FieldError, invalid, tooLong } from '../field/error.ts';
import { FieldPath } from '../field/path.ts';

const managerLimit = 128;

/** Letters, marks, numbers, punctuation, symbols and the plain space, as in Go's unicode.IsPrint. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** Returns the errors in a field manager's name. */
export function validateFieldManager(manager: string, path = FieldPath.of('fieldManager')): FieldError[] {
  const errors: FieldError[] = [];
  if (manager === '') return errors;
  if (Buffer.byteLength(manager) > managerLimit) errors.push(tooLong(path, managerLimit));
  let position = 0;
  for (const character of manager) {
    // Each error shows the whole name, which may have a million characters.
    if (errors.length > managerLimit) break;
    if (!printable.test(character)) {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
      errors.push(invalid(path, manager, `invalid character U+${code} (at position ${position})`));
    }
    position += Buffer.byteLength(character);
  }
  return errors;
}
