import type { User } from '@capstan/api';

/** The credentials of a request. */
export interface Credentials {
  /** The Authorization header, if there is one. */
  readonly authorization?: string;
  /** The client certificate in DER, if the client sent one. It is not verified yet. */
  readonly certificate?: () => Buffer | undefined;
}

export interface Authenticator {
  /**
   * The user that the credentials belong to; undefined if this authenticator does not recognize them.
   * Throws `Unauthenticated` if it recognizes them and they are invalid. Answers synchronously when it can: most requests hit a cache.
   */
  authenticate(credentials: Credentials): User | undefined | Promise<User | undefined>;
}

/** Why credentials are rejected, in categories that matter to operators. */
export type Fault =
  | 'unknown-key'
  | 'unknown-issuer'
  | 'unknown-token'
  | 'expired'
  | 'revoked'
  | 'issuer-out-of-reach'
  | 'certificate'
  | 'other';

export class Unauthenticated extends Error {
  override readonly name = 'Unauthenticated';
  readonly fault: Fault;

  constructor(message: string, { fault = 'other', ...options }: ErrorOptions & { readonly fault?: Fault } = {}) {
    super(message, options);
    this.fault = fault;
  }
}

export const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
