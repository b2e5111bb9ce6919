import type { User } from '@capstan/api';
import { type Authenticator, type Credentials, Unauthenticated } from './user.ts';

/**
 * Tries the authenticators in order until one recognizes the user. If none does but one rejected the credentials, its error is thrown: a
 * request with an invalid token must not become anonymous.
 */
export function union(authenticators: readonly Authenticator[]): Authenticator {
  return {
    authenticate: (credentials) => authenticateFrom(0, { authenticators, credentials, failure: undefined }),
  };
}

interface Attempt {
  readonly authenticators: readonly Authenticator[];
  readonly credentials: Credentials;
  failure: Unauthenticated | undefined;
}

function authenticateFrom(start: number, attempt: Attempt): User | undefined | Promise<User | undefined> {
  for (let index = start; index < attempt.authenticators.length; index++) {
    try {
      const answer = attempt.authenticators[index]!.authenticate(attempt.credentials);
      if (answer instanceof Promise) return continueAfter(answer, index, attempt);
      if (answer !== undefined) return answer;
    } catch (error) {
      remember(attempt, error);
    }
  }
  if (attempt.failure !== undefined) throw attempt.failure;
  return undefined;
}

async function continueAfter(answer: Promise<User | undefined>, index: number, attempt: Attempt): Promise<User | undefined> {
  try {
    const user = await answer;
    if (user !== undefined) return user;
  } catch (error) {
    remember(attempt, error);
  }
  return authenticateFrom(index + 1, attempt);
}

function remember(attempt: Attempt, error: unknown): void {
  if (!(error instanceof Unauthenticated)) throw error;
  attempt.failure ??= error;
}
