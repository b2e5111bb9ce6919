import { StoreError } from '../contract.ts';
import { GrpcError, grpcStatus } from './grpc-error.ts';

/** Translates a failed call. etcd's own messages are stable, and the only way to tell some cases apart. */
export function toStoreError(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  if (!(error instanceof GrpcError)) return new StoreError('unavailable', `cannot ${doing}: ${String(error)}`, { cause: error });
  const { details } = error;
  if (error.code === grpcStatus.outOfRange) {
    const code = details.includes('compacted') ? 'compacted' : 'future';
    return new StoreError(
      code,
      `cannot ${doing}: ${code === 'compacted' ? 'the revision is compacted' : 'the revision does not exist yet'}`,
    );
  }
  if (details.includes('request is too large') || details.includes('larger than max')) {
    return new StoreError('toolarge', `cannot ${doing}: the request is too large for etcd (see its --max-request-bytes)`, {
      cause: error,
    });
  }
  if (details.includes('too many operations')) {
    const message = `cannot ${doing}: the transaction has too many operations for etcd (see its --max-txn-ops)`;
    return new StoreError('toolarge', message, { cause: error });
  }
  if (details.includes('database space exceeded')) {
    const advice = 'Compact and defragment etcd or raise its --quota-backend-bytes, then disarm the alarm with `etcdctl alarm disarm`';
    return new StoreError('readonly', `cannot ${doing}: etcd is out of space. ${advice}`, { cause: error });
  }
  if (error.code === grpcStatus.dataLoss || details.includes('corrupt')) {
    const message = `cannot ${doing}: etcd reports damaged data: ${details}. Restore the member from a snapshot`;
    return new StoreError('corrupt', message, { cause: error });
  }
  const reason = error.code === grpcStatus.deadlineExceeded ? 'etcd did not answer in time' : `etcd is unreachable: ${details}`;
  const message = `cannot ${doing}: ${reason}. Check the endpoints and that most members of the cluster are up`;
  return new StoreError('unavailable', message, { cause: error });
}

/** Whether another member, or the same one a moment later, is likely to answer. */
export function isTransient(error: unknown): error is GrpcError {
  return error instanceof GrpcError && (error.code === grpcStatus.unavailable || error.code === grpcStatus.deadlineExceeded);
}
