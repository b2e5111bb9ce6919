import type { Parameter } from './route.ts';

/** Parameters that many routes have. */
export const namespace: Parameter = { name: 'namespace', description: 'Namespace.', schema: { type: 'string', default: 'default' } };

export const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  description: 'Makes the request safe to repeat: as long as the object exists, the same key and body have the same answer.',
  schema: { type: 'string', maxLength: 255 },
  place: 'header',
};
