/** The status codes of gRPC that mean something to this driver. */
export const grpcStatus = {
  deadlineExceeded: 4,
  outOfRange: 11,
  unavailable: 14,
  dataLoss: 15,
} as const;

/** How a call ended that did not end well. */
export class GrpcError extends Error {
  readonly code: number;
  readonly details: string;
  /** Whether the request surely had no effect: it reached nobody, or a member that had no leader to ask. */
  readonly unsent: boolean;

  constructor(code: number, details: string, unsent = details === 'etcdserver: no leader') {
    super(`gRPC status ${code}: ${details}`);
    this.name = 'GrpcError';
    this.code = code;
    this.details = details;
    this.unsent = unsent;
  }
}
