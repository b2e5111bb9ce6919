import { X509Certificate } from 'node:crypto';

const block = /-----BEGIN ([^-]+)-----([\s\S]*?)-----END \1-----/g;

/** Why an issued chain (base64 of PEM) is invalid; undefined if every block is a certificate. */
export function certificateChainProblem(base64: string): string | undefined {
  if (base64 === '') return undefined;
  const text = Buffer.from(base64, 'base64').toString('latin1');
  let blocks = 0;
  for (const [whole, type, body] of text.matchAll(block)) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (body!.includes(':')) return 'no PEM block headers are permitted';
    blocks++;
    try {
      void new X509Certificate(whole);
    } catch {
      return 'x509: malformed certificate';
    }
  }
  return blocks === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}
