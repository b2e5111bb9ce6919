/** Where the holder of a client certificate gets a bearer token for the same user, for programs that cannot show the certificate. */
export const sessionTokenPath = '/capstan/session-token';

/** The body of a request there. */
export interface SessionTokenRequest {
  /** From 600 to 86,400; 43,200 by default. The token never outlives the certificate. */
  readonly expirationSeconds?: number;
}

export interface SessionToken {
  readonly token: string;
  readonly expirationTimestamp: string;
}
