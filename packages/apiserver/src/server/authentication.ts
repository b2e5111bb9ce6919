import type { ObjectReader } from '@capstan/kinds';
import { trustedAuthorities, trustedSigners } from '@capstan/pki';
import { AppAccounts } from '../app-access/accounts.ts';
import { type BearerTokens, bearerTokens, type TokenAuthenticator } from '../authn/bearer.ts';
import { CertificateTokens } from '../authn/certificate-tokens.ts';
import { clientCertificates } from '../authn/client-certificates.ts';
import { openIdDocuments } from '../authn/openid.ts';
import { intermediatesOf } from '../authn/peer-certificate.ts';
import { serviceAccountTokens } from '../authn/service-account-tokens.ts';
import { createServiceAccountToken } from '../authn/token-request.ts';
import { union } from '../authn/union.ts';
import type { Authenticator } from '../authn/user.ts';
import type { VirtualSubresource } from '../handlers/subresources.ts';
import { requireOffered } from '../http/negotiate.ts';
import { nodeAgents } from '../node-agents/authenticator.ts';
import type { Page } from '../registry/page.ts';
import { audiences, issuer } from './audiences.ts';
import type { LivePki } from './live-pki.ts';
import type { Nodes } from './nodes.ts';
import { sessionTokenPage } from './session-token-page.ts';

export interface Authentication {
  readonly authenticator: Authenticator;
  readonly tokens: BearerTokens;
  /** The accounts of instances of apps. */
  readonly appAccounts: AppAccounts;
  /** Answers `serviceaccounts/<name>/token`. */
  readonly tokenRequests: VirtualSubresource;
  /** The documents with which others check our tokens. */
  readonly pages: ReadonlyMap<string, Page>;
}

/** Puts together the ways in which clients may prove who they are. `more` are those that the configuration adds. */
export function authentication(
  pki: LivePki,
  options: {
    objects: ObjectReader;
    now: () => Date;
    url: string;
    more: readonly TokenAuthenticator[];
    clientAuthority: string | undefined;
    nodes: Nodes;
  },
): Authentication {
  const { serviceAccounts } = pki.current;
  const keys = [serviceAccounts];
  const accounts = serviceAccountTokens({ issuer, keys, objects: options.objects, now: () => options.now().getTime() });
  // Made anew with the authorities, so that nobody is remembered whom a retired one vouched for.
  const verified = pki.derived((present) =>
    clientCertificates([trustedAuthorities(present), options.clientAuthority ?? ''].join('\n'), {
      signersPem: trustedSigners(present),
      intermediatesOf,
    }),
  );
  const certificates: Authenticator = { authenticate: (credentials) => verified().authenticate(credentials) };
  const forCertificates = new CertificateTokens({ key: serviceAccounts, audiences, certificates, now: () => options.now().getTime() });
  const tokenIssuer = { issuer, key: serviceAccounts, audiences: [issuer], objects: options.objects, now: options.now };
  const appAccounts = new AppAccounts({ tokens: accounts, issuer: tokenIssuer, platform: options.nodes.platform, audiences });
  const tokens = bearerTokens([forCertificates, accounts, options.nodes.tokens, appAccounts, ...options.more], audiences);
  pki.onReplaced(() => options.nodes.connections.keepOnly((raw) => isAccepted(certificates, raw)));
  const documents = openIdDocuments(issuer, options.url, keys);
  const documentPage =
    (type: string, body: string): Page =>
    (exchange) => {
      requireOffered(exchange.headers.accept, [type]);
      exchange.header('Cache-Control', documents.cacheControl);
      exchange.send({ code: 200, type, body });
    };
  return {
    authenticator: union([nodeAgents(certificates, options.nodes), tokens]),
    tokens,
    appAccounts,
    tokenRequests: ({ object, context, target }) =>
      createServiceAccountToken(
        { cluster: context.cluster, namespace: target.namespace, name: target.name, body: object },
        { ...tokenIssuer, warn: context.warn },
      ).object,
    pages: new Map<string, Page>([
      sessionTokenPage(forCertificates),
      ['/.well-known/openid-configuration', documentPage('application/json', documents.configuration)],
      ['/openid/v1/jwks', documentPage('application/jwk-set+json', documents.keys)],
    ]),
  };
}

function isAccepted(certificates: Authenticator, raw: Buffer): boolean {
  try {
    return certificates.authenticate({ certificate: () => raw }) !== undefined;
  } catch {
    return false;
  }
}
