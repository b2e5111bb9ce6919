import { createHash, X509Certificate } from 'node:crypto';
import { RecentlyUsed } from './recently-used.ts';
import { type Authenticator, Unauthenticated, type User } from './user.ts';

const clientAuthentication = '1.3.6.1.5.5.7.3.2';
const anyUsage = '2.5.29.37.0';
const capacity = 10_000;
const masters = 'system:masters';

interface Verified {
  /** Undefined when the certificate is good but names nobody. */
  readonly user: User | undefined;
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface ClientCertificateOptions {
  /** PEM of authorities that sign on request: they make nobody a member of system:masters, whoever holds their keys. */
  readonly signersPem?: string | undefined;
  readonly now?: () => number;
}

/**
 * Believes certificates that one of the authorities in the PEM text signed for client use: the common name is the user, the organizations are the groups.
 * The signature is verified once per certificate; its dates with every request.
 */
export function clientCertificates(authoritiesPem: string, { now = Date.now, signersPem }: ClientCertificateOptions = {}): Authenticator {
  const trust: Trust = {
    authorities: parseAuthorities(authoritiesPem),
    signers: signersPem === undefined ? [] : parseAuthorities(signersPem),
  };
  // A connection hands out the same Buffer for its certificate every time, if the caller keeps it; other connections of the client only equal ones.
  const byBuffer = new WeakMap<Buffer, Verified | Unauthenticated>();
  const byContent = new RecentlyUsed<string, Verified | Unauthenticated>(capacity);

  function lookUp(raw: Buffer): Verified | Unauthenticated {
    const content = raw.toString('latin1');
    let verified = byContent.get(content);
    if (verified === undefined) {
      verified = verify(raw, trust);
      byContent.set(content, verified);
    }
    return verified;
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

interface Trust {
  readonly authorities: readonly X509Certificate[];
  readonly signers: readonly X509Certificate[];
}

const isSignedBy = (certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean =>
  authorities.some((authority) => authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey));

function verify(raw: Buffer, { authorities, signers }: Trust): Verified | Unauthenticated {
  const certificate = parse(raw);
  if (certificate instanceof Unauthenticated) return certificate;
  const isOfSigner = isSignedBy(certificate, signers);
  if (!isOfSigner && !isSignedBy(certificate, authorities))
    return new Unauthenticated('the client certificate was not signed by an authority that this server trusts');
  // No usage at all means any usage, as in Go's verification.
  const usages: readonly string[] = certificate.keyUsage ?? [];
  if (usages.length > 0 && !usages.includes(clientAuthentication) && !usages.includes(anyUsage)) {
    return new Unauthenticated('the client certificate is not meant for client authentication');
  }
  const user = userOf(certificate, raw);
  if (isOfSigner && user?.groups.includes(masters) === true) {
    return new Unauthenticated(`the client certificate names the group ${masters}, which its signer cannot give`);
  }
  return {
    user,
    notBefore: certificate.validFromDate.getTime(),
    notAfter: certificate.validToDate.getTime(),
  };
}

function parse(raw: Buffer): X509Certificate | Unauthenticated {
  try {
    return new X509Certificate(raw);
  } catch (error) {
    return new Unauthenticated('the client certificate cannot be parsed', { cause: error });
  }
}

function userOf(certificate: X509Certificate, raw: Buffer): User | undefined {
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<Record<string, string | string[] | undefined>>;
  // Of several common names the last one counts, as in Go.
  const name = [subject['CN'] ?? ''].flat().at(-1)!;
  if (name === '') return undefined;
  const organizations = [subject['O'] ?? []].flat();
  return {
    name,
    groups: organizations.includes('system:authenticated') ? organizations : [...organizations, 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${createHash('sha256').update(raw).digest('hex')}`] },
  };
}
