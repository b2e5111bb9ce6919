/** What a request is signed with. */
export interface Credential {
  /** The value of the `Authorization` header. */
  readonly authorization?: string;
  readonly certificate?: { readonly cert: string | Buffer; readonly key: string | Buffer };
}

/** Where credentials come from. They may change over time, so they are asked for with each request. */
export interface Credentials {
  /** Synchronous when nothing has to be fetched, so that the usual request costs no promise. */
  current(): Credential | Promise<Credential>;
  /** The server refused this credential: the next call of `current` must not come from a cache. */
  refused?(credential: Credential): void;
}

/** Credentials that never change. */
export function fixedCredentials(credential: Credential): Credentials {
  return { current: () => credential };
}

/** Both together: a certificate from one place and a token from another. */
export function combinedCredentials(certificate: Credential['certificate'], token: Credentials): Credentials {
  if (certificate === undefined) return token;
  return {
    async current() {
      return { certificate, ...(await token.current()) };
    },
    refused: (credential) => token.refused?.(credential),
  };
}
