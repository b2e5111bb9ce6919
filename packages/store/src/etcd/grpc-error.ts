/** The status codes of gRPC that mean something to this driver. */
export const grpcStatus = {
  ok: 0,
  deadlineExceeded: 4,
  outOfRange: 11,
  unavailable: 14,
  dataLoss: 15,
} as const;

/** How a call ended, when it did not end well; or `ok`. */
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
