import type { User } from '@capstan/api';
import { decode } from './jwt.ts';
import { type Authenticator, Unauthenticated } from './user.ts';

/** The user of a valid token, and the requested audiences that it is valid for. */
export interface TokenUser {
  readonly user: User;
  readonly audiences: readonly string[];
}

export interface TokenAuthenticator {
  /** Like `Authenticator.authenticate`, for a token that must be valid for one of the audiences. */
  authenticateToken(token: string, audiences: readonly string[]): TokenUser | undefined | Promise<TokenUser | undefined>;
}

export interface BearerTokens extends Authenticator, TokenAuthenticator {
  readonly audiences: readonly string[];
}

/**
 * Reads the token from `Authorization: Bearer` and tries the token authenticators in order. Rejects a token that none of them knows.
 * `audiences` are those of this server.
 */
export function bearerTokens(authenticators: readonly TokenAuthenticator[], audiences: readonly string[]): BearerTokens {
  function authenticateToken(token: string, wanted: readonly string[]): TokenUser | Promise<TokenUser> {
    for (let index = 0; index < authenticators.length; index++) {
      const answer = authenticators[index]!.authenticateToken(token, wanted);
      if (answer instanceof Promise) return continueAfter(answer, index + 1, { token, wanted });
      if (answer !== undefined) return answer;
    }
    throw unknown(token);
  }

  async function continueAfter(
    first: Promise<TokenUser | undefined>,
    next: number,
    { token, wanted }: { token: string; wanted: readonly string[] },
  ): Promise<TokenUser> {
    let answer = await first;
    for (let index = next; answer === undefined && index < authenticators.length; index++) {
      answer = await authenticators[index]!.authenticateToken(token, wanted);
    }
    if (answer === undefined) throw unknown(token);
    return answer;
  }

  return {
    audiences,
    authenticateToken,
    authenticate({ authorization }) {
      if (authorization === undefined) return undefined;
      const token = bearerToken(authorization);
      if (token === undefined) return undefined;
      const answer = authenticateToken(token, audiences);
      return answer instanceof Promise ? answer.then(({ user }) => user) : answer.user;
    },
  };
}

function unknown(token: string): Unauthenticated {
  return new Unauthenticated('invalid bearer token', { fault: decode(token) === undefined ? 'unknown-token' : 'unknown-issuer' });
}

/** The token in an Authorization header. */
export function bearerToken(header: string): string | undefined {
  const text = header.trim();
  if (text.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  const end = text.indexOf(' ', 7);
  const token = end === -1 ? text.slice(7) : text.slice(7, end);
  return token === '' ? undefined : token;
}

/** For authenticators whose tokens carry no audience: such tokens are valid for the audiences of this server. */
export function sharedAudiences(own: readonly string[], wanted: readonly string[]): readonly string[] {
  return own === wanted ? own : wanted.filter((audience) => own.includes(audience));
}

export function withAuthenticatedGroup(groups: readonly string[]): readonly string[] {
  return groups.includes('system:authenticated') || groups.includes('system:unauthenticated')
    ? groups
    : [...groups, 'system:authenticated'];
}
