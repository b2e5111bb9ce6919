import { type Status, StatusError, status } from '@capstan/machinery';

/** A webhook could not be asked, or its answer makes no sense. Its failure policy says what that means for the request. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
}

/** What the client is told when a webhook that must answer did not. */
export function failedCalling(hook: string, { message }: CallFailure): StatusError {
  return status.internalError(`failed calling webhook ${JSON.stringify(hook)}: ${message}`);
}

/** What the client is told when a webhook said no. `result` is what it gave as the reason. */
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
