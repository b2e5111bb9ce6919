import { createPublicKey, verify } from 'node:crypto';
import { elements } from '../../pki/der.ts';

const pemBlock = /-----BEGIN ([^-]+)-----\s*([A-Za-z0-9+/=\s]*)-----END \1-----/;

/** What is wrong with a certificate request (base64 of PEM); undefined when it parses and its signature fits its key. */
export function certificateRequestProblem(base64: string): string | undefined {
  const block = pemBlock.exec(Buffer.from(base64, 'base64').toString('latin1'));
  if (block?.[1] !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST';
  try {
    return signatureProblem(Buffer.from(block[2]!, 'base64'));
  } catch {
    return 'asn1: structure error: malformed certificate request';
  }
}

function signatureProblem(request: Buffer): string | undefined {
  const [whole] = elements(request);
  const [info, algorithm, signature] = elements(whole!.content);
  const [, , key] = elements(info!.content);
  const [identifier] = elements(algorithm!.content);
  const publicKey = createPublicKey({ key: key!.whole, format: 'der', type: 'spki' });
  const digest = digests.get(identifier!.content.toString('hex'));
  if (digest === undefined) return 'x509: cannot verify signature: algorithm unimplemented';
  // The first byte of a bit string counts the unused bits at its end.
  if (verify(digest, info!.whole, publicKey, signature!.content.subarray(1))) return undefined;
  return failures.get(publicKey.asymmetricKeyType ?? '') ?? 'x509: verification failure';
}

/** Signature algorithms by their object identifier; Ed25519 has no digest of its own. */
const digests = new Map<string, string | null>([
  ['2a864886f70d01010b', 'sha256'],
  ['2a864886f70d01010c', 'sha384'],
  ['2a864886f70d01010d', 'sha512'],
  ['2a8648ce3d040302', 'sha256'],
  ['2a8648ce3d040303', 'sha384'],
  ['2a8648ce3d040304', 'sha512'],
  ['2b6570', null],
]);

const failures = new Map([
  ['rsa', 'crypto/rsa: verification error'],
  ['ec', 'x509: ECDSA verification failure'],
  ['ed25519', 'x509: Ed25519 verification failure'],
]);
