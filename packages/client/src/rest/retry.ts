import { ApiError, ConnectionError } from './error.ts';
import { sleep } from './sleep.ts';

/** When a call may be retried. */
export type Repeatable =
  /** Reading twice is harmless: also retried when no response arrived. */
  | 'read'
  /** Repeating it has the same effect, but the response may differ: retried only if the server says that it did nothing. */
  | 'idempotent'
  /** Retried only if the server rejected it before it began. */
  | 'once';

export interface RetryOptions {
  readonly attempts: number;
  /** In milliseconds: if the server asks for a longer wait, its error is passed on. */
  readonly longestWait: number;
  readonly random?: () => number;
}

export const defaultRetry: RetryOptions = { attempts: 5, longestWait: 30_000 };

/** Retries a call, after the wait that the server asks for, until it succeeds or must not be retried. */
export async function withRetries<T>(
  call: () => Promise<T>,
  {
    repeatable,
    signal,
    retry,
  }: { readonly repeatable: Repeatable; readonly signal: AbortSignal | undefined; readonly retry: RetryOptions },
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const wait = attempt < retry.attempts ? waitAfter(error, repeatable, { attempt, random: retry.random ?? Math.random }) : undefined;
      if (wait === undefined || wait > retry.longestWait) throw error;
      await sleep(wait, signal);
    }
  }
}

function waitAfter(
  error: unknown,
  repeatable: Repeatable,
  { attempt, random }: { readonly attempt: number; readonly random: () => number },
): number | undefined {
  const backoff = 50 * 2 ** attempt * (0.5 + random());
  if (error instanceof ConnectionError) return repeatable === 'read' && error.fault === 'failed' ? backoff : undefined;
  if (!(error instanceof ApiError) || error.retryAfter === undefined) return undefined;
  const asked = error.retryAfter * 1000 + (error.retryAfter === 0 ? backoff : 100 * random());
  if (error.code === 429) return asked;
  return error.code === 503 && repeatable !== 'once' ? asked : undefined;
}
