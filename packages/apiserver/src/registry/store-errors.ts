import { type GroupResource, type StatusError, status } from '@capstan/machinery';
import type { StoreError } from '@capstan/store';

/** The response for an error of the store. Conflicts are handled by the callers; everything else is handled here. */
export function toStatus(error: StoreError, resource: GroupResource, name: string): StatusError {
  switch (error.code) {
    case 'exists':
      return status.alreadyExists(resource, name);
    case 'missing':
      return status.notFound(resource, name);
    case 'conflict':
      return status.conflict(resource, name, status.staleObject);
    case 'compacted':
      return status.expired(error.message);
    case 'toolarge':
      return status.requestTooLarge(error.message);
    case 'future':
      return status.timeout(error.message, 1);
    default:
      return status.serviceUnavailable(`the store does not take this request: ${error.message}`);
  }
}
