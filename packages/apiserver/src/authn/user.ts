import type { User } from '@capstan/api';

/** What a request carries to prove who it comes from. */
export interface Credentials {
  /** The Authorization header, when there is one. */
  readonly authorization?: string;
  /** The client's certificate in DER, when TLS gave one. Not verified yet. */
  readonly certificate?: () => Buffer | undefined;
}

export interface Authenticator {
  /**
   * The user that the credentials prove; undefined when they say nothing that this authenticator understands.
   * Throws `Unauthenticated` when they are understood and wrong. Answers at once (not a promise) when it can: most requests hit a cache.
   */
  authenticate(credentials: Credentials): User | undefined | Promise<User | undefined>;
}

/** Why credentials are not believed, as far as it concerns those who run the server. */
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
