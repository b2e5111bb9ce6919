import * as fieldError from '../field/error.ts';
import { compilePattern, type Pattern } from '../pattern/pattern.ts';
import { formatCheck } from './formats.ts';
import { goNumber, isGoInteger } from './go-number.ts';
import type { Run } from './run.ts';
import type { Schema } from './schema.ts';

export type TextCheck = (text: string, run: Run) => void;
export type NumberCheck = (value: number, run: Run) => void;

/** The check of a string's length and pattern; undefined if the schema has neither. */
export function textCheck(schema: Schema): TextCheck | undefined {
  const { minLength, maxLength, pattern: source } = schema;
  if (minLength === undefined && maxLength === undefined && source === '') return undefined;
  let pattern: Pattern | undefined;
  return (text, run) => {
    // A string has at least as many code units as characters, so counting is only needed near the limits.
    if (maxLength !== undefined && text.length > maxLength && characters(text) > maxLength)
      return run.add(fieldError.tooLong(run.at(), maxLength));
    if (minLength !== undefined && text.length < 2 * minLength && characters(text) < minLength)
      return run.add(fieldError.invalid(run.at(), text, `${run.name} in body should be at least ${minLength} chars long`));
    if (source === '') return;
    pattern ??= compilePattern(source);
    if (!pattern.matches(text)) run.add(fieldError.invalid(run.at(), text, `${run.name} in body should match '${source}'`));
  };
}

function characters(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xdc00 && unit <= 0xdfff && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) count--;
  }
  return count;
}

/** The check of a string's format. */
export function formatRule({ format }: Schema): TextCheck | undefined {
  const isValid = formatCheck(format);
  if (isValid === undefined) return undefined;
  return (text, run) => {
    if (!isValid(text))
      run.add(fieldError.typeInvalid(run.at(), text, `${run.name} in body must be of type ${format}: ${fieldError.quote(text)}`));
  };
}

/** The check of a number's size. Limits on integers are truncated to integers. */
export function numberCheck(schema: Schema): NumberCheck | undefined {
  const { minimum, maximum, multipleOf, exclusiveMinimum, exclusiveMaximum } = schema;
  if (minimum === undefined && maximum === undefined && multipleOf === undefined) return undefined;
  const refuse = (run: Run, value: number, why: string): void =>
    run.add(fieldError.invalid(run.at(), value, `${run.name} in body should be ${why}`));
  return (value, run) => {
    const whole = isGoInteger(value);
    const limit = (bound: number): number => (whole ? Math.trunc(bound) : bound);
    if (multipleOf !== undefined) checkFactor(value, limit(multipleOf), run);
    if (minimum !== undefined) {
      const low = limit(minimum);
      if (exclusiveMinimum ? value <= low : value < low)
        refuse(run, value, `greater than ${exclusiveMinimum ? '' : 'or equal to '}${goNumber(low)}`);
    }
    if (maximum !== undefined) {
      const high = limit(maximum);
      if (exclusiveMaximum ? value >= high : value > high)
        refuse(run, value, `less than ${exclusiveMaximum ? '' : 'or equal to '}${goNumber(high)}`);
    }
  };
}

function checkFactor(value: number, factor: number, run: Run): void {
  if (factor <= 0) {
    const why = `factor MultipleOf declared for ${run.name} must be positive: ${goNumber(factor)}`;
    run.add(fieldError.invalid(run.at(), factor, why));
    return;
  }
  const quotient = factor < 1 ? (1 / factor) * value : value / factor;
  if (!isNearlyInteger(quotient))
    run.add(fieldError.invalid(run.at(), value, `${run.name} in body should be a multiple of ${goNumber(factor)}`));
}

/** Fractions such as 0.1 are inexact in binary: a quotient this close to an integer counts as one. */
function isNearlyInteger(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) >= 2 ** 53) return false;
  const distance = Math.abs(value - Math.trunc(value));
  if (distance === 0) return true;
  return distance < 1e-9 || 1 - distance < 1e-9;
}
