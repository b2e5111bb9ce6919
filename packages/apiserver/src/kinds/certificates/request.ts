import { createPublicKey, verify } from 'node:crypto';

/** What is wrong with a certificate request (base64 of PEM); undefined when it parses and its signature fits its key. */
export function certificateRequestProblem(base64: string): string | undefined {
  const block = /-----BEGIN ([^-]+)-----\s*([A-Za-z0-9+/=\s]*)-----END \1-----/.exec(Buffer.from(base64, 'base64').toString('latin1'));
  if (block?.[1] !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST';
  try {
    return signatureProblem(Buffer.from(block[2]!, 'base64'));
  } catch {
    return 'asn1: structure error: malformed certificate request';
  }
}

function signatureProblem(der: Buffer): string | undefined {
  const [info, algorithm, signature] = children(der, element(der, 0));
  if (info === undefined || algorithm === undefined || signature === undefined) throw new Error('a certificate request has three parts');
  const key = children(der, info)[2];
  if (key === undefined) throw new Error('a certificate request has a key');
  const publicKey = createPublicKey({ key: der.subarray(key.start, key.end), format: 'der', type: 'spki' });
  const objectId = children(der, algorithm)[0]!;
  const digest = digests.get(der.subarray(objectId.content, objectId.end).toString('hex'));
  if (digest === undefined) return 'x509: cannot verify signature: algorithm unimplemented';
  // The first byte of a bit string counts the unused bits at its end.
  const bytes = der.subarray(signature.content + 1, signature.end);
  if (verify(digest ?? undefined, der.subarray(info.start, info.end), publicKey, bytes)) return undefined;
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

/** Where an element of DER starts, where its content starts and where it ends. */
interface Element {
  readonly start: number;
  readonly content: number;
  readonly end: number;
}

function element(der: Buffer, start: number): Element {
  const first = der.readUInt8(start + 1);
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  const content = start + 2 + lengthBytes;
  const length = lengthBytes === 0 ? first : der.readUIntBE(start + 2, lengthBytes);
  if (content + length > der.length) throw new Error('an element ends after the data');
  return { start, content, end: content + length };
}

function children(der: Buffer, parent: Element): Element[] {
  const found: Element[] = [];
  for (let position = parent.content; position < parent.end; ) {
    const child = element(der, position);
    found.push(child);
    position = child.end;
  }
  return found;
}
