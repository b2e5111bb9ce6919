import type { FieldError } from '../field/error.ts';
import { longestMessage, shorten } from './shorten.ts';

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** The body of every response that is not an object. */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { resourceVersion?: string; continue?: string };
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

/** The same status, with messages that are not too long. */
function bounded<Given extends { message?: string; details?: StatusDetails }>(status: Given): Given {
  const isLong = (status.message?.length ?? 0) > longestMessage;
  const causes = status.details?.causes;
  if (!isLong && (causes === undefined || !areLong(causes))) return status;
  const details = causes === undefined ? status.details : { ...status.details, causes: boundedCauses(causes) };
  return { ...status, ...(isLong && { message: shorten(status.message!) }), ...(details !== undefined && { details }) };
}

function areLong(causes: readonly StatusCause[]): boolean {
  let characters = 0;
  for (const { message = '', field = '' } of causes) characters += message.length + field.length;
  return characters > longestMessage;
}

function boundedCauses(causes: readonly StatusCause[]): StatusCause[] {
  const kept: StatusCause[] = [];
  let left = longestMessage;
  for (const cause of causes) {
    const message = cause.message === undefined ? undefined : shorten(cause.message, left);
    const field = cause.field === undefined ? undefined : shorten(cause.field, left);
    kept.push({ ...cause, ...(message !== undefined && { message }), ...(field !== undefined && { field }) });
    left -= (cause.message?.length ?? 0) + (cause.field?.length ?? 0);
    if (left <= 0) break;
  }
  return kept;
}

/** An error for the client: thrown anywhere below the HTTP layer, and turned into a response only there. */
export class StatusError extends Error {
  readonly status: Status;

  constructor(status: Omit<Status, 'kind' | 'apiVersion' | 'metadata' | 'status'> & { metadata?: Status['metadata'] }) {
    super(shorten(status.message ?? status.reason ?? 'error'));
    this.name = 'StatusError';
    this.status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...bounded(status) };
  }

  get reason(): string {
    return this.status.reason ?? '';
  }

  get code(): number {
    return this.status.code ?? 500;
  }
}

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

export function resourceName({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`;
}

function kindName({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`;
}

function details({ group, resource }: GroupResource, name = '', more: StatusDetails = {}): StatusDetails {
  return { ...(name && { name }), ...(group && { group }), ...(resource && { kind: resource }), ...more };
}

/** Go's aggregate: one error is printed alone, several in brackets, duplicates once. */
export function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
}

export const badRequest = (message: string): StatusError => new StatusError({ code: 400, reason: 'BadRequest', message });

export const unauthorized = (): StatusError => new StatusError({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });

export function forbidden(resource: GroupResource, name: string, why: string): StatusError {
  const what =
    resource.resource === ''
      ? 'forbidden: '
      : name === ''
        ? `${resourceName(resource)} is forbidden: `
        : `${resourceName(resource)} "${name}" is forbidden: `;
  return new StatusError({ code: 403, reason: 'Forbidden', message: what + why, details: details(resource, name) });
}

export function notFound(resource: GroupResource, name: string): StatusError {
  return new StatusError({
    code: 404,
    reason: 'NotFound',
    message: `${resourceName(resource)} "${name}" not found`,
    details: details(resource, name),
  });
}

/** The path is not served at all, as opposed to an object that does not exist. */
export const noSuchResource = (): StatusError =>
  new StatusError({ code: 404, reason: 'NotFound', message: 'the server could not find the requested resource', details: {} });

export const methodNotAllowed = (): StatusError =>
  new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    details: {},
  });

export function notAcceptable(accepted: readonly string[]): StatusError {
  return new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `only the following media types are accepted: ${accepted.join(', ')}`,
  });
}

export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return new StatusError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${resourceName(resource)} "${name}" already exists`,
    details: details(resource, name),
  });
}

/** The server generated the name, or would have: a retry may succeed. */
export function notUnique(resource: GroupResource, name: string): StatusError {
  return new StatusError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${resourceName(resource)} "${name}" already exists, the server was not able to generate a unique name for the object`,
    details: { ...details(resource, name), retryAfterSeconds: 1 },
  });
}

export const staleObject = 'the object has been modified; please apply your changes to the latest version and try again';

export function conflict(resource: GroupResource, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${resourceName(resource)} "${name}": ${why}`;
  return new StatusError({ code: 409, reason: 'Conflict', message, details: details(resource, name) });
}

export function applyConflict(causes: StatusCause[], message: string): StatusError {
  return new StatusError({ code: 409, reason: 'Conflict', message, details: { causes } });
}

export const expired = (message: string): StatusError => new StatusError({ code: 410, reason: 'Expired', message });

export const requestTooLarge = (message: string): StatusError =>
  new StatusError({ code: 413, reason: 'RequestEntityTooLarge', message: `Request entity too large: ${message}` });

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  return new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  });
}

/** Nobody reads more errors, and a client could cause any number of them. */
const mostCharacters = 2 * longestMessage;

function readable(errors: readonly FieldError[]): readonly FieldError[] {
  let characters = 0;
  const end = errors.findIndex(({ field, body }) => {
    characters += field.length + body.length;
    return characters > mostCharacters;
  });
  return end < 0 ? errors : errors.slice(0, Math.max(end, 1));
}

export function invalidObject(kind: GroupKind, name: string, all: readonly FieldError[]): StatusError {
  const errors = readable(all);
  const causes = errors.map((error) => ({ reason: error.type, message: error.body, field: error.field }));
  const list = errors.length === 0 ? '' : `: ${aggregate(errors.map((error) => `${error.field}: ${error.body}`))}`;
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: `${kindName(kind)} "${name}" is invalid${list}`,
    details: { ...(name && { name }), ...(kind.group && { group: kind.group }), ...(kind.kind && { kind: kind.kind }), causes },
  });
}

export const tooManyRequests = (message: string, retryAfterSeconds: number): StatusError =>
  new StatusError({ code: 429, reason: 'TooManyRequests', message, details: { retryAfterSeconds } });

export const internalError = (why: string): StatusError =>
  new StatusError({
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${why}`,
    details: { causes: [{ message: why }] },
  });

export const serviceUnavailable = (message: string): StatusError => new StatusError({ code: 503, reason: 'ServiceUnavailable', message });

export const timeout = (message: string, retryAfterSeconds: number, causes?: StatusCause[]): StatusError =>
  new StatusError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: ${message}`,
    details: { retryAfterSeconds, ...(causes && { causes }) },
  });
