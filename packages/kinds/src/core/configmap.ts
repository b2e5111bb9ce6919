import { endsPart, type FieldError, FieldPath, fieldError, names, type Parts, stringMapOf } from '@capstan/machinery';
import { decodedLength, sameValue } from '../parts.ts';
import type { Strategy } from '../strategy.ts';

/** The maximum total size of all values in bytes; secrets have the same limit. */
export const dataLimit = 1024 * 1024;

export const immutableMessage = 'field is immutable when `immutable` is set';

/** How Kubernetes prints the path of the whole object. */
const whole = FieldPath.of('[]');

export const configmaps: Strategy = {
  *validateObjectInParts(object) {
    const data = stringMapOf(object['data']);
    const binaryData = stringMapOf(object['binaryData']);
    const errors: FieldError[] = [];
    let characters = 0;
    for (const key in data) {
      if (endsPart()) yield;
      for (const message of names.configMapKey(key)) errors.push(fieldError.invalid(FieldPath.of('data').key(key), key, message));
      if (Object.hasOwn(binaryData, key)) {
        errors.push(fieldError.invalid(FieldPath.of('data').key(key), key, 'duplicate of key present in binaryData'));
      }
      characters += data[key]!.length;
    }
    yield;
    for (const key in binaryData) {
      if (endsPart()) yield;
      for (const message of names.configMapKey(key)) errors.push(fieldError.invalid(FieldPath.of('binaryData').key(key), key, message));
      characters += binaryData[key]!.length;
    }
    // A UTF-16 code unit takes at most three bytes, so most objects need no exact count.
    if (characters * 3 > dataLimit && (yield* byteLength(data, binaryData)) > dataLimit) errors.push(fieldError.tooLong(whole, dataLimit));
    return errors;
  },
  validateUpdate(object, old) {
    if (old['immutable'] !== true) return [];
    const errors: FieldError[] = [];
    if (object['immutable'] !== true) errors.push(fieldError.forbidden(FieldPath.of('immutable'), immutableMessage));
    if (!sameValue(object['data'], old['data'])) errors.push(fieldError.forbidden(FieldPath.of('data'), immutableMessage));
    if (!sameValue(object['binaryData'], old['binaryData']))
      errors.push(fieldError.forbidden(FieldPath.of('binaryData'), immutableMessage));
    return errors;
  },
};

function* byteLength(data: Readonly<Record<string, string>>, binaryData: Readonly<Record<string, string>>): Parts<number> {
  let bytes = 0;
  for (const key in data) {
    if (endsPart()) yield;
    bytes += Buffer.byteLength(data[key]!);
  }
  for (const key in binaryData) {
    if (endsPart()) yield;
    bytes += decodedLength(binaryData[key]!);
  }
  return bytes;
}
