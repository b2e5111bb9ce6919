import { X509Certificate } from 'node:crypto';

/** The names in a certificate, under which browsers reach its owner. Wildcards stand for names that may belong to others. */
export function certificateNames(pem: string): string[] {
  const { subjectAltName = '' } = new X509Certificate(pem);
  return subjectAltName
    .split(', ')
    .flatMap((one) => (one.startsWith('DNS:') && !one.includes('*') ? [one.slice('DNS:'.length).toLowerCase()] : []));
}
