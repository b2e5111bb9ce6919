import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type Element, elements } from './der.ts';

/** What a certificate request (PKCS #10) asks for. */
export interface ParsedRequest {
  /** Of several the last one, as in Go; empty when there is none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly organizationalUnits: readonly string[];
  readonly publicKey: KeyObject;
  readonly names: RequestedNames;
}

/** Subject alternative names by kind, each a GeneralName in DER. Other kinds are left out. */
export interface RequestedNames {
  readonly dns: readonly Buffer[];
  readonly emails: readonly Buffer[];
  readonly addresses: readonly Buffer[];
  readonly uris: readonly Buffer[];
}

const pemBlock = /-----BEGIN ([^-]+)-----\s*([A-Za-z0-9+/=\s]*)-----END \1-----/;
const malformed = 'asn1: structure error: malformed certificate request';

/** What is wrong with a certificate request in PEM; undefined when it parses and its signature fits its key. */
export function requestProblem(pem: string): string | undefined {
  const parsed = parseCertificateRequest(pem);
  return typeof parsed === 'string' ? parsed : undefined;
}

/** Reads a certificate request in PEM and verifies its signature; what is wrong with it when it cannot be used. */
export function parseCertificateRequest(pem: string): ParsedRequest | string {
  const block = pemBlock.exec(pem);
  if (block?.[1] !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST';
  try {
    return parse(Buffer.from(block[2]!, 'base64'));
  } catch {
    return malformed;
  }
}

function parse(request: Buffer): ParsedRequest | string {
  const [whole, ...after] = elements(request);
  const [info, algorithm, signature, ...more] = elements(whole!.content);
  // What the signature does not cover must be as it has to be; the rest it vouches for.
  const [identifier] = elements(algorithm!.content);
  const tags = [whole, info, algorithm, signature, identifier].map((element) => element!.tag);
  if (after.length > 0 || more.length > 0 || String(tags) !== '48,48,48,3,6' || signature!.content[0] !== 0) return malformed;
  const [, subject, key, attributes] = elements(info!.content);
  const publicKey = createPublicKey({ key: key!.whole, format: 'der', type: 'spki' });
  const digest = digests.get(identifier!.content.toString('hex'));
  if (digest === undefined) return 'x509: cannot verify signature: algorithm unimplemented';
  // The first byte of a bit string counts the unused bits at its end.
  if (!verify(digest, info!.whole, publicKey, signature!.content.subarray(1)))
    return failures.get(publicKey.asymmetricKeyType ?? '') ?? 'x509: verification failure';
  const values = subjectValues(subject!);
  return {
    commonName: values.get(identifiers.commonName)?.at(-1) ?? '',
    organizations: values.get(identifiers.organization) ?? [],
    organizationalUnits: values.get(identifiers.organizationalUnit) ?? [],
    publicKey,
    names: requestedNames(attributes),
  };
}

/** Object identifiers, as the hexadecimal digits of their encoding. */
const identifiers = {
  commonName: '550403',
  organization: '55040a',
  organizationalUnit: '55040b',
  extensionRequest: '2a864886f70d01090e',
  alternativeNames: '551d11',
} as const;

function subjectValues(subject: Element): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const set of elements(subject.content)) {
    for (const pair of elements(set.content)) {
      const [type, value] = elements(pair.content);
      const identifier = type!.content.toString('hex');
      values.set(identifier, [...(values.get(identifier) ?? []), textOf(value!)]);
    }
  }
  return values;
}

const bmpString = 0x1e;

function textOf({ tag, content }: Element): string {
  return tag === bmpString ? Buffer.from(content).swap16().toString('utf16le') : content.toString('utf8');
}

function requestedNames(attributes: Element | undefined): RequestedNames {
  const found = extensionsOf(attributes).flatMap((extension) => {
    const [type, ...rest] = elements(extension.content);
    if (type!.content.toString('hex') !== identifiers.alternativeNames) return [];
    const [names] = elements(rest.at(-1)!.content);
    return elements(names!.content);
  });
  const ofKind = (tag: number): Buffer[] => found.filter((name) => name.tag === tag).map(({ whole }) => whole);
  return { dns: ofKind(0x82), emails: ofKind(0x81), addresses: ofKind(0x87), uris: ofKind(0x86) };
}

function extensionsOf(attributes: Element | undefined): Element[] {
  return elements(attributes?.content ?? Buffer.alloc(0)).flatMap((attribute) => {
    const [type, values] = elements(attribute.content);
    if (type!.content.toString('hex') !== identifiers.extensionRequest) return [];
    return elements(values!.content).flatMap((list) => elements(list.content));
  });
}

/** Signature algorithms by their object identifier; Ed25519 has no digest of its own. */
const digests = new Map<string, string | null>([
  // Too weak for certificates; whoever asks for one only shows that the key is theirs.
  ['2a864886f70d010105', 'sha1'],
  ['2a8648ce3d0401', 'sha1'],
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
