import { StatusError, status } from '@capstan/machinery';
import type { AdmissionRequest } from '../registry/admission.ts';

/** The error that rejects a request. A name that is still to be generated is shown as its prefix. */
export function forbidden(request: AdmissionRequest, why: string): StatusError {
  const { metadata } = request.object ?? {};
  const name = request.name || metadata?.name || metadata?.generateName || 'Unknown';
  return status.forbidden(request.resource, name, why);
}

const codes: ReadonlyMap<string, number> = new Map([
  ['Unauthorized', 401],
  ['Forbidden', 403],
  ['RequestEntityTooLarge', 413],
  ['Invalid', 422],
]);

/** The error that rejects a request with a reason given by a policy. */
export function refusedFor(request: AdmissionRequest, why: string, reason: string): StatusError {
  const { status: answer } = forbidden(request, why);
  const details = { ...answer.details, causes: [{ message: why }] };
  return new StatusError({ message: answer.message ?? why, reason, code: codes.get(reason) ?? 422, details });
}
