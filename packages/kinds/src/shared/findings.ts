import { type FieldError, type FieldPath, fieldError, isAbsent } from '@capstan/machinery';

/** What is wrong with an object, in the order in which it was found. */
export class Findings {
  readonly errors: FieldError[] = [];

  add(errors: readonly FieldError[]): void {
    for (const error of errors) this.errors.push(error);
  }

  /** One error for each message: none when there are none. */
  invalid(at: FieldPath, value: unknown, messages: string | readonly string[]): void {
    if (typeof messages === 'string') this.errors.push(fieldError.invalid(at, value, messages));
    else for (const message of messages) this.errors.push(fieldError.invalid(at, value, message));
  }

  /** Says what is wrong without showing the value. */
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

  /** A required word out of few. */
  oneOf(at: FieldPath, value: unknown, supported: readonly string[]): void {
    if (isAbsent(value) || value === '') this.required(at);
    else if (!supported.includes(value as string)) this.notSupported(at, value, supported);
  }

  /** An optional word out of few. */
  optionalOneOf(at: FieldPath, value: unknown, supported: readonly string[]): void {
    if (!isAbsent(value) && !supported.includes(value as string)) this.notSupported(at, value, supported);
  }

  nonNegative(at: FieldPath, value: unknown): void {
    if ((typeof value === 'number' || typeof value === 'bigint') && value < 0)
      this.invalid(at, value, 'must be greater than or equal to 0');
  }

  /** A field that may not change after creation. */
  immutable(at: FieldPath, value: unknown, isSame: boolean): void {
    if (!isSame) this.invalid(at, value, 'field is immutable');
  }
}
