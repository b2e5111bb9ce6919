import { BodyFault } from '@capstan/serving';

/** Why the console itself refuses a request. */
const codes = {
  bad_request: 400,
  signed_out: 401,
  wrong_origin: 403,
  not_for_browsers: 403,
  wrong_host: 421,
  not_found: 404,
  method_not_allowed: 405,
  body_too_large: 413,
  request_timeout: 408,
  address_too_long: 414,
  too_many: 429,
  headers_too_large: 431,
  internal: 500,
  provider_failed: 502,
  unavailable: 503,
  upstream_timeout: 504,
} as const;

export type RefusalCode = keyof typeof codes;

/** A refusal of the console: thrown anywhere, and turned into a response in one place. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  /** More members of the body. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: RefusalCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return codes[this.code];
  }

  get body(): string {
    return JSON.stringify({ code: this.code, message: this.message, ...this.details });
  }
}

/** Undefined for an error that nobody expected. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof BodyFault) return new Refusal(error.fault === 'too-large' ? 'body_too_large' : 'request_timeout', error.message);
  return undefined;
}
