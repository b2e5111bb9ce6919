import type { ClientRequest } from 'node:http';

/**
 * Whether a request failed because the server had closed the kept connection on which it was sent. Repeating it takes another connection, so that it
 * ends with a new one.
 */
export function isStale({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException): boolean {
  return reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');
}
