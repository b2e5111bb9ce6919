import { appReportAudience, appsNamespace, appTokenLifetime, appTokenPrefix } from '@capstan/api';
import { type Client, isAlreadyExists, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

/** The name by which steps mention the token with which their member reports: `${secret:report-token}`. */
export const reportTokenSecret = 'report-token';

const accountKind = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };

export interface ReportToken {
  readonly token: string;
  readonly expiresAt: string;
}

/** The account of an instance, with which it reports on itself and may do nothing else. Its tokens end with it. */
export class ReportAccount {
  readonly #client: Client;
  readonly #uid: string;

  constructor(platform: Client, uid: string) {
    this.#client = platform;
    this.#uid = uid;
  }

  /** A new token. Creates the account if missing. */
  async token(): Promise<ReportToken> {
    const made = (await ignoring(this.#request(), isNotFound)) ?? (await this.#create());
    const { token, expirationTimestamp } = made['status'] as { readonly token: string; readonly expirationTimestamp: string };
    return { token: appTokenPrefix + token, expiresAt: expirationTimestamp };
  }

  /** Deletes the account, and thereby revokes its tokens. */
  async revoke(): Promise<void> {
    await ignoring(this.#accounts().delete(this.#uid), isNotFound);
  }

  async #create(): Promise<KubeObject> {
    const metadata = { name: this.#uid, namespace: appsNamespace };
    await ignoring(this.#accounts().create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata }), isAlreadyExists);
    return this.#request();
  }

  #request(): Promise<KubeObject> {
    const spec = { audiences: [appReportAudience], expirationSeconds: appTokenLifetime };
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec };
    return this.#accounts().writeSubresource<KubeObject>(this.#uid, { subresource: 'token', method: 'POST', body });
  }

  #accounts() {
    return this.#client.resource(accountKind).in(appsNamespace);
  }
}
