/** The path below which the REST API is served. */
export const restPath = '/api/v1';

/**
 * Why a request to the REST API failed, for programs: the member `code` of a problem. Codes are never renamed, and no others are sent. Each has the HTTP status that
 * it always comes with, and a title for people.
 */
export const problemCodes = {
  invalid_request: { status: 400, title: 'The request is not valid' },
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_path: { status: 400, title: 'The path is not valid' },
  invalid_parameter: { status: 400, title: 'A parameter is not valid' },
  invalid_idempotency_key: { status: 400, title: 'The idempotency key is not valid' },
  unauthenticated: { status: 401, title: 'A valid bearer token is required' },
  forbidden: { status: 403, title: 'The rights of the token do not suffice' },
  not_found: { status: 404, title: 'The object does not exist' },
  route_not_found: { status: 404, title: 'Nothing is served at this path' },
  workspace_not_found: { status: 404, title: 'The workspace does not offer this resource' },
  method_not_allowed: { status: 405, title: 'The path does not support this method' },
  not_acceptable: { status: 406, title: 'The requested format is not available' },
  request_timeout: { status: 408, title: 'The request did not arrive in time' },
  already_exists: { status: 409, title: 'An object with this name exists' },
  conflict: { status: 409, title: 'The object was changed in the meantime' },
  idempotency_key_reused: { status: 409, title: 'The idempotency key belongs to another request' },
  expired: { status: 410, title: 'The position is older than the history of the server' },
  body_too_large: { status: 413, title: 'The body is too large' },
  uri_too_long: { status: 414, title: 'The address is too long' },
  unsupported_media_type: { status: 415, title: 'The body has a type that is not supported' },
  validation_failed: { status: 422, title: 'Some fields are not valid' },
  too_many_requests: { status: 429, title: 'There are too many requests' },
  too_many_streams: { status: 429, title: 'There are too many open streams' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  internal: { status: 500, title: 'The server failed' },
  not_implemented: { status: 501, title: 'The server cannot do this yet' },
  upstream_failed: { status: 502, title: 'The API server failed' },
  unavailable: { status: 503, title: 'The API server cannot be reached' },
  upstream_timeout: { status: 504, title: 'The API server did not answer in time' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly title: string }>>;

export type ProblemCode = keyof typeof problemCodes;

/** A field of the body that was refused. */
export interface ProblemField {
  /** As in the body: `env[0].name`. Empty if it is about the body as a whole. */
  readonly field: string;
  readonly message: string;
}

/** The body of every error, as in RFC 9457. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  readonly detail: string;
  /** Id of the request, which the logs of the server have too. */
  readonly requestId: string;
  /** The reason of the API server, such as `AlreadyExists`, if the answer is its. */
  readonly reason?: string;
  readonly errors?: readonly ProblemField[];
}

/** On an object that was created through the REST API with an idempotency key: whose request it was, as a hash of the user and the key. Also a label. */
export const operationIdAnnotation = 'capstan.dev/operation-id';
/** On the same object: the hash of the body. */
export const requestHashAnnotation = 'capstan.dev/request-hash';
