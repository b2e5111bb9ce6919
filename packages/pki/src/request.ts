import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type Element, elements } from './der.ts';

/** The contents of a certificate request (PKCS #10). */
export interface ParsedRequest {
  /** The last one if there are several, as in Go; empty if there is none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly organizationalUnits: readonly string[];
  readonly publicKey: KeyObject;
  readonly names: RequestedNames;
}

/** Subject alternative names by kind, each a GeneralName in DER. Other kinds are ignored. */
export interface RequestedNames {
  readonly dns: readonly Buffer[];
  readonly emails: readonly Buffer[];
  readonly addresses: readonly Buffer[];
  readonly uris: readonly Buffer[];
}

const pemBlock = /-----BEGIN ([^-]+)-----\s*([A-Za-z0-9+/=\s]*)-----END \1-----/;
const malformed = 'asn1: structure error: malformed certificate request';

/** Why a certificate request in PEM is invalid; undefined if it parses and its signature matches its key. */
export function requestProblem(pem: string): string | undefined {
  const parsed = parseCertificateRequest(pem);
  return typeof parsed === 'string' ? parsed : undefined;
}

/** Parses a certificate request in PEM and verifies its signature; returns the problem if it is invalid. */
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
  // The parts that the signature does not cover must be checked explicitly.
  const [identifier] = elements(algorithm!.content);
  const tags = [whole, info, algorithm, signature, identifier].map((element) => element!.tag);
  if (after.length > 0 || more.length > 0 || String(tags) !== '48,48,48,3,6' || signature!.content[0] !== 0) return malformed;
  const [, subject, key, attributes] = elements(info!.content);
  const publicKey = createPublicKey({ key: key!.whole, format: 'der', type: 'spki' });
  const digest = digests.get(identifier!.content.toString('hex'));
  if (digest === undefined) return 'x509: cannot verify signature: algorithm unimplemented';
  // The first byte of a bit string is the number of unused bits at its end.
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

/** Object identifiers in DER, as hexadecimal digits. */
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

/** Signature algorithms by object identifier; Ed25519 has no separate digest. */
const digests = new Map<string, string | null>([
  // Too weak for certificates, but a request only proves possession of the key.
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
