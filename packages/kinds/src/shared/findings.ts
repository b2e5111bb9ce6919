import { type FieldError, type FieldPath, fieldError, isAbsent } from '@capstan/machinery';

/** Collects the errors of an object in order. */
export class Findings {
  readonly errors: FieldError[] = [];

  add(errors: readonly FieldError[]): void {
    for (const error of errors) this.errors.push(error);
  }

  /** Adds one error for each message, or none if there are none. */
  invalid(at: FieldPath, value: unknown, messages: string | readonly string[]): void {
    if (typeof messages === 'string') this.errors.push(fieldError.invalid(at, value, messages));
    else for (const message of messages) this.errors.push(fieldError.invalid(at, value, message));
  }

  /** Reports an error without showing the value. */
  invalidPart(at: FieldPath, detail: string): void {
    this.errors.push({ type: 'FieldValueInvalid', field: at.toString(), body: `Invalid value: ${detail}` });
  }

  required(at: FieldPath, detail = ''): void {
    this.errors.push(fieldError.required(at, detail));
  }

  forbidden(at: FieldPath, detail: string): void {
    this.errors.push(fieldError.forbidden(at, detail));
  }

  duplicate(at: FieldPath, value: unknown, detail = ''): void {
    const error = fieldError.duplicate(at, value);
    this.errors.push(detail === '' ? error : { ...error, body: `${error.body}: ${detail}` });
  }

  notFound(at: FieldPath, value: unknown): void {
    this.errors.push(fieldError.notFound(at, value));
  }

  notSupported(at: FieldPath, value: unknown, supported: readonly string[]): void {
    this.errors.push(fieldError.notSupported(at, value, supported));
  }

  tooMany(at: FieldPath, actual: number, max: number): void {
    this.errors.push(fieldError.tooMany(at, actual, max));
  }

  /** Validates a required enum field. */
  oneOf(at: FieldPath, value: unknown, supported: readonly string[]): void {
    if (isAbsent(value) || value === '') this.required(at);
    else if (!supported.includes(value as string)) this.notSupported(at, value, supported);
  }

  /** Validates an optional enum field. */
  optionalOneOf(at: FieldPath, value: unknown, supported: readonly string[]): void {
    if (!isAbsent(value) && !supported.includes(value as string)) this.notSupported(at, value, supported);
  }

  nonNegative(at: FieldPath, value: unknown): void {
    if ((typeof value === 'number' || typeof value === 'bigint') && value < 0)
      this.invalid(at, value, 'must be greater than or equal to 0');
  }

  /** Validates an immutable field. */
  immutable(at: FieldPath, value: unknown, isSame: boolean): void {
    if (!isSame) this.invalid(at, value, 'field is immutable');
  }
}
