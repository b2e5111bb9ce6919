import { type FieldError, type GroupResource, status } from '@capstan/machinery';
import type { AdmissionRequest } from '../../registry/admission.ts';

/** What is wrong with an object, in the words of kcp's admission: it does not say Invalid, it says Forbidden. */
export function refuse({ resource, name }: AdmissionRequest, errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const texts = errors.map(({ field, body }) => `${field}: ${body}`);
  throw status.forbidden(resource, name, `[${texts.join(' ')}]`);
}

export function isOf({ resource }: AdmissionRequest, wanted: GroupResource): boolean {
  return resource.resource === wanted.resource && resource.group === wanted.group;
}
