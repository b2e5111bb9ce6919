import { type Status, StatusError, status } from '@capstan/machinery';

/** Thrown when the call to a webhook fails or its response is invalid. The failure policy decides what happens to the request. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
}

/** The error for the client when a required webhook failed. */
export function failedCalling(hook: string, { message }: CallFailure): StatusError {
  return status.internalError(`failed calling webhook ${JSON.stringify(hook)}: ${message}`);
}

/** The error for the client when a webhook denied the request. `result` is the status in its response. */
export function denied(hook: string, result: Partial<Status> | undefined): StatusError {
  const by = `admission webhook ${JSON.stringify(hook)} denied the request`;
  const why = result?.message || result?.reason;
  const { kind: _kind, apiVersion: _apiVersion, status: _status, code = 0, ...rest } = result ?? {};
  return new StatusError({
    ...rest,
    message: why ? `${by}: ${why}` : `${by} without explanation`,
    code: code < 400 ? 400 : Math.min(code, 599),
  });
}

export function noDryRun(hook: string): StatusError {
  return status.badRequest(`admission webhook ${JSON.stringify(hook)} does not support dry run`);
}
