/** Authenticates a request. */
export interface Credential {
  /** The value of the `Authorization` header. */
  readonly authorization?: string;
  readonly certificate?: { readonly cert: string | Buffer; readonly key: string | Buffer };
}

/** A source of credentials. They may change over time, so each request asks for them. */
export interface Credentials {
  /** Synchronous if nothing has to be fetched, so that the usual request needs no promise. */
  current(): Credential | Promise<Credential>;
  /** The server rejected this credential: the next call of `current` must not use a cache. */
  refused?(credential: Credential): void;
}

/** Credentials that never change. */
export function fixedCredentials(credential: Credential): Credentials {
  return { current: () => credential };
}

/** Combines a certificate from one source with a token from another. */
export function combinedCredentials(certificate: Credential['certificate'], token: Credentials): Credentials {
  if (certificate === undefined) return token;
  return {
    async current() {
      return { certificate, ...(await token.current()) };
    },
    refused: (credential) => token.refused?.(credential),
  };
}
