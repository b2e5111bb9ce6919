import { type FieldError, status } from '@capstan/machinery';
import type { AdmissionRequest } from '../../registry/admission.ts';

/** Throws the errors in the format of kcp's admission, which responds with Forbidden instead of Invalid. */
export function refuse({ resource, name }: AdmissionRequest, errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const texts = errors.map(({ field, body }) => `${field}: ${body}`);
  throw status.forbidden(resource, name, `[${texts.join(' ')}]`);
}
