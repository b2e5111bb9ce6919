import { type ProblemBody, type ProblemCode, type ProblemField, problemCodes } from '@capstan/api';
import { ApiError, ConnectionError } from '@capstan/client';
import { BodyFault } from '@capstan/serving';

export const problemType = 'application/problem+json';

interface ProblemDetails {
  /** The reason of the API server. */
  readonly reason?: string;
  readonly errors?: readonly ProblemField[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error for the caller: thrown anywhere, and turned into a response in one place. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, detail: string, details: ProblemDetails = {}) {
    super(detail);
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return problemCodes[this.code].status;
  }

  body(requestId: string): ProblemBody {
    const { status, title } = problemCodes[this.code];
    const { reason, errors } = this.details;
    return {
      type: `https://capstan.dev/problems/${this.code}`,
      title,
      status,
      code: this.code,
      detail: this.message,
      requestId,
      ...(reason !== undefined && { reason }),
      ...(errors !== undefined && errors.length > 0 && { errors }),
    };
  }
}

const howToGetToken =
  'Send "Authorization: Bearer <token>". A service account of your workspace has one: "kubectl create token <account>". People use the ID token of the identity provider ' +
  'that the API server trusts.';

export function unauthenticated(why: string, reason?: string): Problem {
  const headers = { 'www-authenticate': 'Bearer realm="capstan"' };
  return new Problem('unauthenticated', `${why}. ${howToGetToken}`, { headers, ...(reason !== undefined && { reason }) });
}

const codesByReason: Readonly<Record<string, ProblemCode>> = {
  BadRequest: 'invalid_request',
  Forbidden: 'forbidden',
  NotFound: 'not_found',
  MethodNotAllowed: 'method_not_allowed',
  NotAcceptable: 'not_acceptable',
  AlreadyExists: 'already_exists',
  Conflict: 'conflict',
  Gone: 'expired',
  Expired: 'expired',
  RequestEntityTooLarge: 'body_too_large',
  UnsupportedMediaType: 'unsupported_media_type',
  Invalid: 'validation_failed',
  TooManyRequests: 'too_many_requests',
  Timeout: 'upstream_timeout',
  ServerTimeout: 'upstream_timeout',
  ServiceUnavailable: 'unavailable',
};

const codesByStatus: Readonly<Record<number, ProblemCode>> = {
  400: 'invalid_request',
  403: 'forbidden',
  404: 'workspace_not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  410: 'expired',
  413: 'body_too_large',
  422: 'validation_failed',
  429: 'too_many_requests',
  501: 'not_implemented',
  503: 'unavailable',
  504: 'upstream_timeout',
};

/** The problem that any error is for the caller. Details of unexpected ones stay in the log. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof ApiError) return problemOfApiError(error);
  if (error instanceof BodyFault) return new Problem(error.fault === 'too-large' ? 'body_too_large' : 'request_timeout', error.message);
  if (error instanceof ConnectionError) {
    if (error.fault === 'response-timeout' || error.fault === 'idle-timeout')
      return new Problem(
        'upstream_timeout',
        'The API server did not answer in time. Whether a change took effect is unknown: read the object.',
      );
    return new Problem('unavailable', 'The API server cannot be reached at the moment. Try again.', { headers: { 'retry-after': '1' } });
  }
  return new Problem(
    'internal',
    'The request failed for a reason that the operator of this server finds in its log, under the id of the request.',
  );
}

function problemOfApiError({ code, reason, message, status, retryAfter }: ApiError): Problem {
  if (code === 401) return unauthenticated('The API server does not accept the token', reason);
  const headers = retryAfter === undefined ? {} : { headers: { 'retry-after': String(Math.ceil(retryAfter)) } };
  const errors = (status.details?.causes ?? [])
    .filter(({ field }) => field !== undefined)
    .map(({ field = '', message: what = '' }) => ({ field: restField(field), message: what }));
  return new Problem(codeOf(code, reason, status.details?.name), message, { ...(reason !== '' && { reason }), errors, ...headers });
}

/** A missing kind is not a missing object: the workspace is wrong, or it has not bound the product. */
function codeOf(code: number, reason: string, name: string | undefined): ProblemCode {
  if (code === 404 && name === undefined) return 'workspace_not_found';
  return codesByReason[reason] ?? codesByStatus[code] ?? (code >= 500 ? 'upstream_failed' : 'invalid_request');
}

/** Fields of an object are not nested in `spec` and `metadata` here. */
export function restField(field: string): string {
  if (field === 'metadata.resourceVersion') return 'version';
  return field.replace(/^(spec|metadata)(\.|$)/, '');
}
