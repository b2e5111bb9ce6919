import {
  appAccountGroup,
  appAccountUser,
  appReportAudience,
  appsNamespace,
  appTokenLifetime,
  appTokenPrefix,
  type ClusterId,
} from '@capstan/api';
import { sharedAudiences, type TokenAuthenticator, type TokenUser, withAuthenticatedGroup } from '../authn/bearer.ts';
import { decode } from '../authn/jwt.ts';
import { homeOf, parseServiceAccountName } from '../authn/service-account.ts';
import { createServiceAccountToken, type TokenIssuer } from '../authn/token-request.ts';
import { Unauthenticated } from '../authn/user.ts';

export interface AppAccountsOptions {
  /** Accepts tokens of service accounts. */
  readonly tokens: TokenAuthenticator;
  readonly issuer: TokenIssuer;
  readonly platform: () => ClusterId | undefined;
  /** Of this server. */
  readonly audiences: readonly string[];
}

/** The holder of a token of an instance. */
export interface AppAccount {
  /** UID of the instance. */
  readonly uid: string;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * The accounts of instances of apps: service accounts of the namespace `apps` in root:platform, each named by the UID of its instance. Their tokens are for reports alone, so
 * they have an audience of their own, and their users have no rights but that.
 */
export class AppAccounts implements TokenAuthenticator {
  readonly #options: AppAccountsOptions;

  constructor(options: AppAccountsOptions) {
    this.#options = options;
  }

  async #userOf(token: string, wanted: readonly string[]): Promise<TokenUser> {
    const { uid } = await this.accountOf(token);
    const audiences = sharedAudiences(this.#options.audiences, wanted);
    if (audiences.length === 0) throw new Unauthenticated('a token of an instance is for its reports alone');
    return { user: { name: appAccountUser(uid), groups: withAuthenticatedGroup([appAccountGroup]) }, audiences };
  }

  authenticateToken(token: string, wanted: readonly string[]): Promise<TokenUser> | undefined {
    return token.startsWith(appTokenPrefix) ? this.#userOf(token, wanted) : undefined;
  }

  /** Throws `Unauthenticated` if it is not the token of an instance, or no longer. */
  async accountOf(token: string): Promise<AppAccount> {
    const inner = token.startsWith(appTokenPrefix) ? token.slice(appTokenPrefix.length) : '';
    const found = await this.#options.tokens.authenticateToken(inner, [appReportAudience]);
    const account = found && parseServiceAccountName(found.user.name);
    if (found === undefined || account?.namespace !== appsNamespace || homeOf(found.user) !== this.#options.platform())
      throw new Unauthenticated('the token is not that of an instance', { fault: 'unknown-token' });
    const { exp } = decode(inner)?.claims ?? {};
    return { uid: account.name, expiresAt: typeof exp === 'number' ? exp * 1000 : 0 };
  }

  /** A new token for an account that has just used its present one. */
  renew({ uid: name }: AppAccount): { readonly token: string; readonly expiresAt: string } | undefined {
    const cluster = this.#options.platform();
    if (cluster === undefined) return undefined;
    const spec = { audiences: [appReportAudience], expirationSeconds: appTokenLifetime };
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec };
    const { object } = createServiceAccountToken({ cluster, namespace: appsNamespace, name, body }, this.#options.issuer);
    const { token, expirationTimestamp } = object['status'] as { readonly token: string; readonly expirationTimestamp: string };
    return { token: appTokenPrefix + token, expiresAt: expirationTimestamp };
  }
}
