import { hash, randomUUID } from 'node:crypto';
import { apiServerGroup, nodeAgentGroup, nodeGroup, type SessionToken, type User } from '@capstan/api';
import { status } from '@capstan/machinery';
import type { SigningKey } from '@capstan/pki';
import type { TokenAuthenticator } from './bearer.ts';
import { type Claims, parsePart, partOf, signatureOf, verifies } from './jwt.ts';
import { RecentlyUsed } from './recently-used.ts';
import { type Authenticator, Unauthenticated } from './user.ts';

export interface CertificateTokenOptions {
  readonly key: SigningKey;
  /** The audiences of this server, for which the tokens are. */
  readonly audiences: readonly string[];
  /** Says whose a certificate is, if it is accepted now. */
  readonly certificates: Authenticator;
  readonly now: () => number;
}

/** No JSON Web Token begins like this, so nobody else takes it for one of theirs, and no other token is decoded here. */
const prefix = 'capstan-session.';
const capacity = 10_000;
/** In seconds. */
const lifetimes = { least: 600, most: 86_400, usual: 43_200 };
/** Their certificates are revoked one by one, and they have no browsers. */
const machines = [nodeAgentGroup, nodeGroup, apiServerGroup];
const credentialId = 'authentication.kubernetes.io/credential-id';

interface Known {
  readonly certificate: Buffer;
  readonly notAfter: number;
  readonly id: string;
  /** Of the certificate, when it was last looked at, and the user with the id of the token. */
  last?: { readonly owner: User; readonly user: User };
}

/**
 * Tokens that stand for a client certificate for some hours: a browser cannot show the certificate, and a process that acts for one must not have its key. A token contains
 * the certificate, which is checked at every request like one on a connection, so that it ends with the certificate and with its authority, and means exactly the
 * same user.
 */
export class CertificateTokens implements TokenAuthenticator {
  readonly #options: CertificateTokenOptions;
  readonly #known = new RecentlyUsed<string, Known>(capacity);

  constructor(options: CertificateTokenOptions) {
    this.#options = options;
  }

  /** A token for the user of a certificate with which somebody connected. Throws a status error if there can be none. */
  issue(certificate: Buffer | undefined, seconds: unknown = lifetimes.usual): SessionToken {
    if (certificate === undefined) throw status.badRequest('expected a client certificate on the connection: a token needs no other token');
    if (typeof seconds !== 'number' || !(seconds >= lifetimes.least && seconds <= lifetimes.most))
      throw status.badRequest(`expirationSeconds: expected a number from ${lifetimes.least} to ${lifetimes.most}`);
    // A copy, for which the intermediate authorities of the connection are not known: nobody will send them with the token.
    const user = this.#userOf(Buffer.from(certificate));
    if (user === undefined)
      throw status.badRequest('the client certificate must name a user, and be signed by an authority of this server itself');
    if (user.groups.some((group) => machines.includes(group))) throw status.badRequest('machines use their certificates');
    const now = Math.floor(this.#options.now() / 1000);
    const exp = now + Math.floor(seconds);
    const claims = {
      sub: user.name,
      aud: this.#options.audiences[0],
      iat: now,
      exp,
      jti: randomUUID(),
      certificate: certificate.toString('base64'),
    };
    const signed = prefix + partOf(claims);
    return { token: `${signed}.${signatureOf(signed, this.#options.key)}`, expirationTimestamp: new Date(exp * 1000).toISOString() };
  }

  #userOf(certificate: Buffer): User | undefined {
    try {
      const user = this.#options.certificates.authenticate({ certificate: () => certificate });
      return user instanceof Promise ? undefined : user;
    } catch (error) {
      if (error instanceof Unauthenticated) return undefined;
      throw error;
    }
  }

  authenticateToken(token: string, wanted: readonly string[]) {
    if (!token.startsWith(prefix)) return undefined;
    const name = hash('sha256', token, 'base64');
    let known = this.#known.get(name);
    if (known === undefined) this.#known.set(name, (known = this.#verify(token)));
    if (this.#options.now() > known.notAfter) throw new Unauthenticated('the session token has expired', { fault: 'expired' });
    const audiences = this.#options.audiences.filter((audience) => wanted.includes(audience));
    if (audiences.length === 0) throw new Unauthenticated('the session token is meant for another server');
    // Throws if the certificate is no longer accepted.
    const owner = this.#options.certificates.authenticate({ certificate: () => known.certificate });
    if (owner === undefined || owner instanceof Promise) throw new Unauthenticated('the session token names no user');
    if (known.last?.owner !== owner) known.last = { owner, user: withId(owner, known.id) };
    return { user: known.last.user, audiences };
  }

  #verify(token: string): Known {
    const end = token.lastIndexOf('.');
    if (!verifies(token.slice(0, end), token.slice(end + 1), this.#options.key))
      throw new Unauthenticated('the signature of the session token is wrong', { fault: 'unknown-key' });
    const { exp, jti, certificate }: Claims = parsePart(token.slice(prefix.length, end)) ?? {};
    if (typeof exp !== 'number' || typeof jti !== 'string' || typeof certificate !== 'string')
      throw new Unauthenticated('the session token lacks claims that every one of this server has');
    return { certificate: Buffer.from(certificate, 'base64'), notAfter: exp * 1000, id: jti };
  }
}

/** The audit log shows both the certificate and the token. */
function withId(owner: User, id: string): User {
  return { ...owner, extra: { ...owner.extra, [credentialId]: [...(owner.extra?.[credentialId] ?? []), `JTI=${id}`] } };
}
