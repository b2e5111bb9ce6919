import { createPrivateKey, X509Certificate } from 'node:crypto';
import { issueCertificate, type ParsedRequest } from '@capstan/pki';
import type { SigningSettings } from '../registration.ts';

export interface Wish {
  readonly request: ParsedRequest;
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
  /** Of the signer. */
  readonly maximumSeconds: number;
  readonly now: Date;
}

/** Certificates begin a little in the past, for those whose clock is behind. */
const backdateSeconds = 300;
/** Shorter lives are not cut by that. */
const shortSeconds = 8 * 3600;
const leastSeconds = 600;

/** Signs what was approved. PEM of the certificate, and of the signer's own, so that it can be verified by those who trust the root alone. */
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
