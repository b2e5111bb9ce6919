import { type ServiceError, status } from '@grpc/grpc-js';
import { StoreError } from '../contract.ts';

/** What a failed call means. etcd's own messages are stable and the only way to tell some cases apart. */
export function toStoreError(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  if (!isServiceError(error)) return new StoreError('unavailable', `cannot ${doing}: ${String(error)}`, { cause: error });
  const { details } = error;
  if (error.code === status.OUT_OF_RANGE) {
    const code = details.includes('compacted') ? 'compacted' : 'future';
    return new StoreError(
      code,
      `cannot ${doing}: ${code === 'compacted' ? 'the revision is compacted' : 'the revision has not been made yet'}`,
    );
  }
  if (details.includes('request is too large') || details.includes('larger than max')) {
    return new StoreError('toolarge', `cannot ${doing}: etcd takes no request of this size (see its --max-request-bytes)`, {
      cause: error,
    });
  }
  if (details.includes('database space exceeded')) {
    const advice = 'Compact and defragment etcd or raise its --quota-backend-bytes, then disarm the alarm with `etcdctl alarm disarm`';
    return new StoreError('readonly', `cannot ${doing}: etcd is out of space. ${advice}`, { cause: error });
  }
  if (error.code === status.DATA_LOSS || details.includes('corrupt')) {
    return new StoreError('corrupt', `cannot ${doing}: etcd reports damaged data: ${details}. Restore the member from a snapshot`, {
      cause: error,
    });
  }
  const reason = error.code === status.DEADLINE_EXCEEDED ? 'etcd has not answered in time' : `etcd is out of reach: ${details}`;
  return new StoreError('unavailable', `cannot ${doing}: ${reason}. Check the endpoints and that most members of the cluster are up`, {
    cause: error,
  });
}

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error && typeof error.details === 'string';
}

/** Whether another member, or the same one a moment later, may well answer. */
export function isTransient(error: ServiceError): boolean {
  return error.code === status.UNAVAILABLE || error.code === status.DEADLINE_EXCEEDED;
}

/** Whether the request surely reached nobody, so that even a write can be sent again. */
export function isUnsent(error: ServiceError): boolean {
  return (
    error.code === status.UNAVAILABLE && (error.details.startsWith('No connection established') || error.details.includes('ECONNREFUSED'))
  );
}
