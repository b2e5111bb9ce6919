import { createHash, X509Certificate } from 'node:crypto';
import type { User } from '@capstan/api';
import { apiServerGroup, superuserGroup } from '@capstan/api';
import { elements } from '@capstan/pki';
import { RecentlyUsed } from './recently-used.ts';
import { type Authenticator, Unauthenticated } from './user.ts';

const clientAuthentication = '1.3.6.1.5.5.7.3.2';
const anyUsage = '2.5.29.37.0';
const capacity = 10_000;

interface Verified {
  /** Undefined if the certificate is valid but names no user. */
  readonly user: User | undefined;
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface ClientCertificateOptions {
  /**
   * PEM of the authorities that sign certificate requests. Their certificates cannot make a user a member of system:masters, whoever holds
   * the keys.
   */
  readonly signersPem?: string | undefined;
  /** The further certificates that a client sent with this one, in DER. */
  readonly intermediatesOf?: (raw: Buffer) => readonly Buffer[];
  readonly now?: () => number;
}

/**
 * Accepts certificates that one of the authorities in the PEM text signed for client use: the common name is the user, the organizations
 * are the groups. The signature is verified once per certificate, the validity period on every request.
 */
export function clientCertificates(authoritiesPem: string, options: ClientCertificateOptions = {}): Authenticator {
  const { now = Date.now, signersPem, intermediatesOf = () => [] } = options;
  const trust: Trust = {
    authorities: parseAuthorities(authoritiesPem),
    signers: signersPem === undefined ? [] : parseAuthorities(signersPem),
  };
  // Within a connection the Buffer is the same object, if the caller keeps it; on other connections of the client it is only equal.
  const byBuffer = new WeakMap<Buffer, Verified | Unauthenticated>();
  const byContent = new RecentlyUsed<string, Verified | Unauthenticated>(capacity);

  function lookUp(raw: Buffer): Verified | Unauthenticated {
    const content = raw.toString('latin1');
    const held = byContent.get(content);
    if (held !== undefined && !(held instanceof Unsigned)) return held;
    // Another connection may send the missing intermediate authorities.
    const verified = held === undefined ? verify(raw, [], trust) : held;
    const better = verified instanceof Unsigned ? verify(raw, intermediatesOf(raw), trust) : verified;
    byContent.set(content, better);
    return better;
  }

  return {
    authenticate({ certificate }) {
      const raw = certificate?.();
      if (raw === undefined) return undefined;
      let verified = byBuffer.get(raw);
      if (verified === undefined) {
        verified = lookUp(raw);
        byBuffer.set(raw, verified);
      }
      if (verified instanceof Unauthenticated) throw verified;
      const time = now();
      if (time < verified.notBefore || time > verified.notAfter) {
        throw new Unauthenticated(
          `the client certificate is valid from ${new Date(verified.notBefore).toISOString()} to ${new Date(verified.notAfter).toISOString()}, and now it is ${new Date(time).toISOString()}`,
          { fault: 'certificate' },
        );
      }
      return verified.user;
    },
  };
}

function parseAuthorities(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g);
  if (blocks === null) throw new TypeError('expected at least one certificate in PEM as the authority for client certificates, found none');
  return blocks.map((block) => new X509Certificate(block));
}

class Unsigned extends Unauthenticated {
  constructor() {
    super('the client certificate was not signed by an authority that this server trusts');
  }
}

interface Trust {
  readonly authorities: readonly X509Certificate[];
  readonly signers: readonly X509Certificate[];
}

const isAuthority = (certificate: X509Certificate): boolean => certificate.ca;

/** An X.509 v1 certificate has no basicConstraints, so it is an authority if the operator trusts it as one. */
function isTrustedAuthority(certificate: X509Certificate): boolean {
  if (certificate.ca) return true;
  const [whole] = elements(certificate.raw);
  const [body] = elements(whole!.content);
  const [version] = elements(body!.content);
  return version!.tag !== 0xa0;
}

const isSignedBy = (certificate: X509Certificate, authorities: readonly X509Certificate[], may = isAuthority): boolean =>
  authorities.some((authority) => may(authority) && certificate.checkIssued(authority) && certificate.verify(authority.publicKey));

/**
 * The subject of the authorities that servers create to sign certificate requests. Only their own authority can have signed a certificate
 * with it.
 */
const signerName = 'CN=capstan-signer';

/** The authorities between a certificate and a trusted one, nearest first; undefined if there is no such chain. */
function chainOf(
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  { authorities, signers }: Trust,
): X509Certificate[] | undefined {
  const chain: X509Certificate[] = [];
  for (let current = certificate; ; ) {
    const signer = signers.find((one) => isSignedBy(current, [one]));
    if (signer !== undefined) return [...chain, signer];
    if (isSignedBy(current, authorities, isTrustedAuthority)) return chain;
    const next = intermediates.find((one) => !chain.includes(one) && isSignedBy(current, [one]));
    if (next === undefined) return undefined;
    chain.push(next);
    current = next;
  }
}

function verify(raw: Buffer, intermediates: readonly Buffer[], trust: Trust): Verified | Unauthenticated {
  const certificate = parse(raw);
  if (certificate instanceof Unauthenticated) return certificate;
  const parsed = intermediates.map(parse).filter((one) => one instanceof X509Certificate);
  const chain = chainOf(certificate, parsed, trust);
  if (chain === undefined) return new Unsigned();
  // No usage means any usage, as in Go's verification.
  const usages: readonly string[] = certificate.keyUsage ?? [];
  if (usages.length > 0 && !usages.includes(clientAuthentication) && !usages.includes(anyUsage)) {
    return new Unauthenticated('the client certificate is not meant for client authentication', { fault: 'certificate' });
  }
  const user = userOf(certificate, raw);
  const isOfSigner = chain.some((authority) => trust.signers.includes(authority) || authority.subject === signerName);
  const reserved = isOfSigner ? user?.groups.find((group) => group === superuserGroup || group === apiServerGroup) : undefined;
  if (reserved !== undefined) {
    return new Unauthenticated(`the client certificate names the group ${reserved}, which its signer cannot give`, {
      fault: 'certificate',
    });
  }
  return {
    user,
    notBefore: Math.max(...[certificate, ...chain].map(({ validFromDate }) => validFromDate.getTime())),
    notAfter: Math.min(...[certificate, ...chain].map(({ validToDate }) => validToDate.getTime())),
  };
}

function parse(raw: Buffer): X509Certificate | Unauthenticated {
  try {
    return new X509Certificate(raw);
  } catch (error) {
    return new Unauthenticated('the client certificate cannot be parsed', { cause: error, fault: 'certificate' });
  }
}

function userOf(certificate: X509Certificate, raw: Buffer): User | undefined {
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<Record<string, string | string[] | undefined>>;
  // The last of several common names wins, as in Go.
  const name = [subject['CN'] ?? ''].flat().at(-1)!;
  if (name === '') return undefined;
  const organizations = [subject['O'] ?? []].flat();
  return {
    name,
    groups: organizations.includes('system:authenticated') ? organizations : [...organizations, 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${createHash('sha256').update(raw).digest('hex')}`] },
  };
}
