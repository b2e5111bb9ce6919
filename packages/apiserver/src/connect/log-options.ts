import { FieldPath, fieldError, status } from '@capstan/machinery';
import type { Query } from '../request/info.ts';

const wholeNumber = /^[+-]?\d+$/;
const largest = 2n ** 63n - 1n;

function numberParameter(query: Query, name: string): bigint | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (text === '') return 0n;
  if (!wholeNumber.test(text)) throw status.badRequest(`strconv.ParseInt: parsing ${fieldError.quote(text)}: invalid syntax`);
  const value = BigInt(text.replace(/^\+/, ''));
  if (value > largest || value < -largest - 1n)
    throw status.badRequest(`strconv.ParseInt: parsing ${fieldError.quote(text)}: value out of range`);
  return value;
}

/** Rejects options of a log that Kubernetes rejects. */
export function checkLogOptions(pod: string, query: Query): void {
  const seconds = numberParameter(query, 'sinceSeconds');
  const since = query.get('sinceTime');
  const lines = numberParameter(query, 'tailLines');
  const bytes = numberParameter(query, 'limitBytes');
  const at = (name: string): FieldPath => FieldPath.of(name);
  const errors = [];
  if (lines !== undefined && lines < 0n) errors.push(fieldError.invalid(at('tailLines'), lines, 'must be greater than or equal to 0'));
  if (bytes !== undefined && bytes < 1n) errors.push(fieldError.invalid(at('limitBytes'), bytes, 'must be greater than 0'));
  if (seconds !== undefined && since !== null)
    errors.push(fieldError.forbidden(at('[]'), 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  else if (seconds !== undefined && seconds < 1n) errors.push(fieldError.invalid(at('sinceSeconds'), seconds, 'must be greater than 0'));
  if (query.get('stream') !== null) errors.push(fieldError.forbidden(at('stream'), 'may not be specified'));
  if (errors.length > 0) throw status.invalidObject({ group: '', kind: 'PodLogOptions' }, pod, errors);
}
