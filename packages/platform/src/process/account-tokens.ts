import type { Client, Credential, Credentials, Target } from '@capstan/client';

export interface AccountTokenOptions {
  /** Of a user who may create tokens for the account, in the account's workspace. */
  readonly client: Client;
  readonly account: Required<Pick<Target, 'name'>> & { readonly namespace: string };
  /** In seconds; an hour by default. */
  readonly lifetime?: number;
  /** In milliseconds. */
  readonly now?: () => number;
}

interface TokenRequest {
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}

interface Held {
  readonly credential: Credential;
  /** In milliseconds: when to ask for the next one, and until when this one works. */
  readonly renewAt: number;
  readonly expiresAt: number;
}

const serviceAccounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };
/** In milliseconds: how long after a failed renewal the next one is tried, while the current token still works. */
const retryAfter = 10_000;
/** In milliseconds: clocks of servers differ a little. */
const margin = 10_000;

/**
 * Authenticates requests with tokens of a service account. A token is renewed in the background after two thirds of its life, so that no request waits
 * for a renewal, and the current one is used as long as it works.
 */
export function accountTokens({ client, account, lifetime = 3600, now = Date.now }: AccountTokenOptions): Credentials {
  let held: Held | undefined;
  let running: Promise<Credential> | undefined;
  const request = async (): Promise<Credential> => {
    const asked = now();
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: lifetime } };
    const { status = {} } = await client
      .resource(serviceAccounts)
      .writeSubresource<TokenRequest>(account, { subresource: 'token', method: 'POST', body });
    const expiresAt = Date.parse(status.expirationTimestamp ?? '');
    if (status.token === undefined || Number.isNaN(expiresAt))
      throw new Error(`expected a token for the service account ${account.namespace}/${account.name}, found an answer without one`);
    const credential = { authorization: `Bearer ${status.token}` };
    held = { credential, expiresAt: expiresAt - margin, renewAt: asked + ((expiresAt - asked) * 2) / 3 };
    return credential;
  };
  const renew = (): Promise<Credential> => {
    running ??= request().finally(() => (running = undefined));
    return running;
  };
  return {
    current() {
      const at = now();
      if (held === undefined || at >= held.expiresAt) return renew();
      const { credential, expiresAt } = held;
      if (at >= held.renewAt && running === undefined)
        renew().catch(() => {
          if (held?.credential === credential) held = { credential, expiresAt, renewAt: now() + retryAfter };
        });
      return credential;
    },
    refused(credential) {
      if (held?.credential === credential) held = undefined;
    },
  };
}
