import { done, type Result, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

/** The queue does not wait longer than this: clocks are adjusted, and machines sleep. */
const longestWait = 3_600_000;

export interface BootstrapToken extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface TokenActions {
  readonly remove: (token: BootstrapToken) => Promise<unknown>;
  readonly now: () => number;
}

/** Deletes a token that has expired, or looks again when it does. */
export async function reconcileToken(token: BootstrapToken | undefined, { remove, now }: TokenActions): Promise<Result> {
  const expiration = Buffer.from(token?.data?.['expiration'] ?? '', 'base64').toString();
  if (token === undefined || expiration === '') return done;
  const end = Date.parse(expiration);
  // The server rejects tokens with an unreadable expiration, so they are of no use.
  const wait = Number.isNaN(end) ? 0 : end - now();
  if (wait > 0) return requeueAfter(Math.min(wait, longestWait));
  await remove(token);
  return done;
}
