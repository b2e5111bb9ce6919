import { StoreError } from '../contract.ts';
import type { Failure, Refusal } from './messages.ts';

export const maximumKeyLength = 4_096;
export const maximumValueLength = 16 * 1024 * 1024;

export function toStoreError(failure: Failure): StoreError {
  const { code, message, compactedRevision } = failure;
  return new StoreError(code, message, compactedRevision === undefined ? {} : { compactedRevision });
}

export function refusalError(key: string, refusal: Refusal): StoreError {
  const { code, value, revision, createRevision } = refusal;
  if (code === 'unmet') return new StoreError(code, `${key} was not created: an object it depends on was deleted or has changed`);
  if (code === 'missing') return new StoreError(code, `${key} does not exist`);
  const message = code === 'exists' ? `${key} exists at revision ${revision}` : `${key} has changed: it is now at revision ${revision}`;
  return new StoreError(code, message, { current: { key, value, revision, createRevision } });
}

export function unfitError(key: string, value: string): StoreError {
  if (!key.isWellFormed())
    return new StoreError('toolarge', `the key ${JSON.stringify(key)} contains half of a surrogate pair: keys are well-formed text`);
  if (key.length > maximumKeyLength)
    return new StoreError('toolarge', `the key has ${key.length} characters: the limit is ${maximumKeyLength}`);
  return new StoreError('toolarge', `the value of ${key} has ${value.length} characters: the limit is ${maximumValueLength}`);
}

export function closedError(): StoreError {
  return new StoreError('closed', 'the store was closed');
}
