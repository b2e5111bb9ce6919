import { createPrivateKey, X509Certificate } from 'node:crypto';
import { issueCertificate, type ParsedRequest } from '@capstan/pki';
import type { SigningSettings } from '../registration.ts';

export interface Wish {
  readonly request: ParsedRequest;
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
  /** The longest validity that the signer allows. */
  readonly maximumSeconds: number;
  readonly now: Date;
}

/** Certificates start a little in the past, for clients whose clock is behind. */
const backdateSeconds = 300;
/** Shorter validities are not shortened by that. */
const shortSeconds = 8 * 3600;
const leastSeconds = 600;

/** Signs an approved request. Returns the PEM of the certificate followed by the signer's own, so that clients that trust only the root can verify it. */
export function signWith(signing: SigningSettings, wish: Wish): string {
  const { certificate, key } = signing.load();
  const issuer = new X509Certificate(certificate);
  const { request, usages, now } = wish;
  const longest = Math.min(wish.maximumSeconds, signing.maximumSeconds ?? Number.POSITIVE_INFINITY);
  const seconds = Math.min(Math.max(wish.expirationSeconds ?? longest, leastSeconds), longest);
  const end = now.getTime() + (seconds < shortSeconds ? seconds : seconds - backdateSeconds) * 1000;
  if (issuer.validToDate.getTime() <= now.getTime())
    throw new Error(`the signer's certificate expired on ${issuer.validToDate.toISOString()}; renew it`);
  const { dns, emails, addresses, uris } = request.names;
  const signed = issueCertificate(
    {
      ...request,
      usage: usages,
      alternativeNames: [...dns, ...emails, ...addresses, ...uris],
      notBefore: new Date(now.getTime() - backdateSeconds * 1000),
      notAfter: new Date(Math.min(end, issuer.validToDate.getTime())),
    },
    { key: createPrivateKey(key), certificate: issuer },
  );
  return `${signed}${certificate}`;
}
