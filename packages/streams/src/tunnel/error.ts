/**
 * - `closed`: the tunnel ended before the response. The peer left or the connection broke.
 * - `dead`: the peer did not answer pings.
 * - `busy`: as many streams are open as the tunnel allows.
 * - `refused`: the API server answered the request for a tunnel with something else than a tunnel.
 * - `unreachable`: no connection to the API server.
 */
export type TunnelFault = 'closed' | 'dead' | 'busy' | 'refused' | 'unreachable';

export class TunnelError extends Error {
  override readonly name = 'TunnelError';
  readonly code: TunnelFault;
  /** The status of the refusal. */
  readonly status: number | undefined;

  constructor(code: TunnelFault, message: string, { status, ...options }: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options);
    this.code = code;
    this.status = status;
  }
}
