import type { Json } from '../json.ts';
import { canonicalizeQuantity } from '../quantity/quantity.ts';
import type { Scalar } from '../schema/type.ts';
import { CodecError } from './error.ts';
import { isLargeInteger } from './exact.ts';
import { canonicalMicroTime, canonicalTime } from './go-time.ts';

/** The value has the wrong JSON type for the scalar. The caller knows its path and words the error. */
export const mismatch = Symbol('mismatch');
/** A string that is not base64; `explainBytes` says why. */
export const malformedBytes = Symbol('malformedBytes');

const quantityPattern = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** The value in Kubernetes' canonical form, or the same value if there is nothing to change. Never called with null. */
export function canonicalScalar(value: Json, scalar: Scalar): Json | typeof mismatch | typeof malformedBytes {
  switch (scalar) {
    case 'string':
    case 'duration':
      return typeof value === 'string' ? value : mismatch;
    case 'bool':
      return typeof value === 'boolean' ? value : mismatch;
    case 'int32':
      return isInt32(value) ? value : mismatch;
    case 'int64':
      return Number.isInteger(value) || isLargeInteger(value) ? value : mismatch;
    case 'double':
      return typeof value === 'number' || isLargeInteger(value) ? value : mismatch;
    case 'bytes':
      return typeof value === 'string' ? canonicalBytes(value) : bytesFromList(value);
    case 'time':
      return typeof value === 'string' ? canonicalTime(value) : mismatch;
    case 'microTime':
      return typeof value === 'string' ? canonicalMicroTime(value) : mismatch;
    case 'intOrString':
      return typeof value === 'string' || isInt32(value) ? value : mismatch;
    case 'quantity':
      return canonicalQuantity(value);
  }
}

function isInt32(value: Json): boolean {
  return typeof value === 'number' && (value | 0) === value;
}

function canonicalQuantity(value: Json): string {
  if (typeof value !== 'string' && typeof value !== 'number') throw new CodecError(quantityPattern);
  try {
    return canonicalizeQuantity(value);
  } catch (error) {
    throw new CodecError((error as Error).message);
  }
}

/** Standard base64 with padding. Line breaks are allowed and dropped, as in Go. */
function canonicalBytes(text: string): string | typeof malformedBytes {
  if (text === '' || Buffer.from(text, 'base64').toString('base64') === text) return text;
  return firstIllegalByte(text) === -1 ? Buffer.from(text, 'base64').toString('base64') : malformedBytes;
}

/** Go also accepts a list of numbers, in which null is 0. */
function bytesFromList(value: Json): string | typeof mismatch {
  if (!Array.isArray(value)) return mismatch;
  const numbers = value.map((item) => item ?? 0);
  const isBytes = numbers.every((item) => Number.isInteger(item) && (item as number) >= 0 && (item as number) < 256);
  return isBytes ? Buffer.from(numbers as number[]).toString('base64') : mismatch;
}

export function explainBytes(value: Json): string {
  return `illegal base64 data at input byte ${firstIllegalByte(value as string)}`;
}

function isBase64Digit(code: number): boolean {
  return (
    (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2f
  );
}

/** The byte offset at which Go's decoder stops; -1 if the text is valid. */
function firstIllegalByte(text: string): number {
  const bytes = Buffer.from(text);
  let index = 0;
  const skipBreaks = (): void => {
    while (bytes[index] === 0x0a || bytes[index] === 0x0d) index++;
  };
  for (;;) {
    const start = index;
    for (let digit = 0; digit < 4; digit++) {
      skipBreaks();
      if (index === bytes.length) return digit === 0 ? -1 : index - digit;
      const code = bytes[index++]!;
      if (isBase64Digit(code)) continue;
      if (code !== 0x3d || digit < 2) return index - 1;
      skipBreaks();
      if (digit === 2) {
        if (index === bytes.length) return bytes.length;
        if (bytes[index++] !== 0x3d) return index - 1;
        skipBreaks();
      }
      return index < bytes.length ? index : -1;
    }
    if (start === index) return -1;
  }
}

/** The value that replaces null where Go has no pointer. */
export function zeroScalar(scalar: Scalar): Json {
  switch (scalar) {
    case 'string':
    case 'bytes':
      return '';
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'double':
    case 'intOrString':
      return 0;
    case 'quantity':
      return '0';
    case 'duration':
      return '0s';
    case 'time':
    case 'microTime':
      return null;
  }
}
