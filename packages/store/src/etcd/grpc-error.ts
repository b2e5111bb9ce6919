/** The gRPC status codes that this driver distinguishes. */
export const grpcStatus = {
  deadlineExceeded: 4,
  outOfRange: 11,
  unavailable: 14,
  dataLoss: 15,
} as const;

/** The error of a failed call. */
export class GrpcError extends Error {
  readonly code: number;
  readonly details: string;
  /** Whether the request certainly had no effect: it reached nobody, or a member without a leader. */
  readonly unsent: boolean;

  constructor(code: number, details: string, unsent = details === 'etcdserver: no leader') {
    super(`gRPC status ${code}: ${details}`);
    this.name = 'GrpcError';
    this.code = code;
    this.details = details;
    this.unsent = unsent;
  }
}
