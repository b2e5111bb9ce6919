import { isObject, type Status } from '@capstan/machinery/objects';

/** The server answered with an error. */
export class ApiError extends Error {
  readonly status: Status;
  /** The HTTP status of the response. */
  readonly code: number;
  /** `NotFound`, `Conflict`, …; empty if the server gave none. */
  readonly reason: string;
  /** In seconds; undefined if the server did not ask for a retry. */
  readonly retryAfter: number | undefined;

  constructor(status: Status, answer: { readonly code: number; readonly retryAfter?: number | undefined }) {
    super(status.message ?? status.reason ?? `the server answered ${answer.code} without a reason`);
    this.name = 'ApiError';
    this.status = status;
    this.code = answer.code;
    this.reason = status.reason ?? '';
    this.retryAfter = answer.retryAfter ?? status.details?.retryAfterSeconds;
  }

  /** From the body of an error response, which may come from a proxy and not be a `Status`. */
  static of(code: number, body: string, retryAfterHeader?: string): ApiError {
    const seconds = Number(retryAfterHeader);
    const retryAfter = retryAfterHeader !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
    return new ApiError(readStatus(body) ?? statusOfText(code, body), { code, retryAfter });
  }
}

function readStatus(body: string): Status | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return isObject(parsed) && parsed.kind === 'Status' ? (parsed as unknown as Status) : undefined;
  } catch {
    return undefined;
  }
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function statusOfText(code: number, body: string): Status {
  const text = body.trim().slice(0, 1000);
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    ...(reasons[code] !== undefined && { reason: reasons[code] }),
    message: text === '' ? `the server answered ${code} without a reason` : `the server answered ${code}: ${text}`,
  };
}

/** The kind of failure before a response arrived. */
export type ConnectionFault = 'connect-timeout' | 'response-timeout' | 'idle-timeout' | 'failed';

/** No response arrived, or it was interrupted. Whether a write took effect is unknown. */
export class ConnectionError extends Error {
  readonly fault: ConnectionFault;

  constructor(fault: ConnectionFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ConnectionError';
    this.fault = fault;
  }
}

const isReason =
  (...names: readonly string[]) =>
  (error: unknown): error is ApiError =>
    error instanceof ApiError && names.includes(error.reason);

export const isNotFound = isReason('NotFound');
export const isAlreadyExists = isReason('AlreadyExists');
/** Somebody else changed the object in the meantime: read it again. */
export const isConflict = isReason('Conflict');
/** The resource version or continue token is older than the server's history. */
export const isExpired = isReason('Expired', 'Gone');
export const isForbidden = isReason('Forbidden');
export const isInvalid = isReason('Invalid');

/** The namespace or the whole workspace is being deleted, so nothing can be created in it. */
export const isTerminating = hasCause('NamespaceTerminating', 'WorkspaceTerminating');

/** The server has not seen this resource version yet: it lags behind, or its data was restored from an older copy. */
export const isTooLargeResourceVersion = hasCause('ResourceVersionTooLarge');

function hasCause(...names: readonly string[]) {
  return (error: unknown): error is ApiError =>
    error instanceof ApiError && (error.status.details?.causes ?? []).some(({ reason = '' }) => names.includes(reason));
}
