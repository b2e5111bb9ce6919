import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** SHA-256 of a public key, in hexadecimal digits: the name by which keys are recorded. Takes a private key too. */
export function publicKeyHash(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

/** Names the purpose of the signature, so that no other signature of the same key can serve as a proof. */
const signed = (request: string): Buffer => Buffer.from(`capstan node renewal\n${request}`);

/** Proves with the present key that its holder asks for the certificate of another key. */
export function renewalProof(key: KeyObject, request: string): string {
  return sign('sha256', signed(request), key).toString('base64');
}

export function isRenewalProof(proof: string, request: string, publicKey: KeyObject): boolean {
  try {
    return verify('sha256', signed(request), publicKey, Buffer.from(proof, 'base64'));
  } catch {
    return false;
  }
}

/** SHA-256 of the first certificate in PEM, in hexadecimal digits: what join commands pin. */
export function certificateFingerprint(pem: string): string {
  const body = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/.exec(pem)?.[1] ?? '';
  return createHash('sha256').update(Buffer.from(body, 'base64')).digest('hex');
}

/** The one of the certificates in PEM that has this fingerprint, without the others, which the fingerprint does not vouch for. */
export function pinnedCertificate(pem: string, fingerprint: string): string | undefined {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  const found = blocks.find((block) => certificateFingerprint(block) === fingerprint);
  return found && `${found}\n`;
}
