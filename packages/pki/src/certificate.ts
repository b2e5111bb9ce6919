import { createHash, createPublicKey, type KeyObject, randomBytes, sign, type X509Certificate } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import * as der from './der.ts';
import { extendedUsages, keyUsageBits } from './usages.ts';

/** The contents of a certificate. Signing adds the issuer's name, the serial number and the key identifiers. */
export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly organizationalUnits?: readonly string[];
  readonly publicKey: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** One of the three common usages, or a list of Kubernetes' usage names. */
  readonly usage: 'authority' | 'server' | 'client' | readonly string[];
  /** Host names and IP addresses of the server. */
  readonly hosts?: readonly string[];
  /** Additional subject alternative names, each a GeneralName in DER. */
  readonly alternativeNames?: readonly Buffer[];
}

export interface Issuer {
  readonly key: KeyObject;
  /** Undefined for a self-signed certificate. */
  readonly certificate?: X509Certificate;
}

/** Signs a certificate and returns it as PEM. */
export function issueCertificate(request: CertificateRequest, issuer: Issuer): string {
  const algorithm = signatureAlgorithm(issuer.key);
  const subject = distinguishedName(request);
  const body = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))),
    der.integer(serialNumber()),
    algorithm,
    issuer.certificate === undefined ? subject : subjectOf(issuer.certificate),
    der.sequence(der.time(request.notBefore), der.time(request.notAfter)),
    subject,
    publicKeyInfo(request.publicKey),
    der.explicit(3, der.sequence(...extensions(request, issuer))),
  );
  const certificate = der.sequence(body, algorithm, der.bitString(sign('sha256', body, issuer.key)));
  return pem('CERTIFICATE', certificate);
}

export function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g)!;
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  // RFC 5280 requires a positive number; setting the next bit keeps the encoding minimal and its length fixed.
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes;
}

export function signatureAlgorithm(key: KeyObject): Buffer {
  if (key.asymmetricKeyType === 'rsa') return der.sequence(der.objectIdentifier('1.2.840.113549.1.1.11'), der.nothing());
  if (key.asymmetricKeyType === 'ec') return der.sequence(der.objectIdentifier('1.2.840.10045.4.3.2'));
  throw new TypeError(`the authority's key must be an EC or RSA key, not ${key.asymmetricKeyType ?? key.type}`);
}

export type SubjectParts = Pick<CertificateRequest, 'commonName' | 'organizations' | 'organizationalUnits'>;

export function distinguishedName({ organizations = [], organizationalUnits = [], commonName }: SubjectParts): Buffer {
  const part = (identifier: string, value: string): Buffer =>
    der.set(der.sequence(der.objectIdentifier(identifier), der.utf8String(value)));
  return der.sequence(
    ...organizations.map((name) => part('2.5.4.10', name)),
    ...organizationalUnits.map((name) => part('2.5.4.11', name)),
    part('2.5.4.3', commonName),
  );
}

const usual = {
  authority: ['cert sign', 'crl sign'],
  server: ['digital signature', 'server auth'],
  client: ['digital signature', 'client auth'],
} as const;

function extensions(request: CertificateRequest, issuer: Issuer): Buffer[] {
  const usages: readonly string[] = typeof request.usage === 'string' ? usual[request.usage] : request.usage;
  const list = [
    extension('2.5.29.19', der.sequence(...(request.usage === 'authority' ? [der.truth()] : [])), true),
    extension('2.5.29.14', der.octetString(keyIdentifier(request.publicKey))),
    extension('2.5.29.35', der.sequence(der.tlv(0x80, issuerKeyIdentifier(issuer)))),
  ];
  const bits = keyUsageBits(usages);
  if (bits !== undefined) list.push(extension('2.5.29.15', der.bitString(bits.bytes, bits.unused), true));
  const extended = extendedUsages(usages);
  if (extended.length > 0) list.push(extension('2.5.29.37', der.sequence(...extended.map(der.objectIdentifier))));
  const names = [...(request.hosts ?? []).map(alternativeName), ...(request.alternativeNames ?? [])];
  if (names.length > 0) list.push(extension('2.5.29.17', der.sequence(...names)));
  return list;
}

export function extension(identifier: string, value: Buffer, critical = false): Buffer {
  return der.sequence(der.objectIdentifier(identifier), ...(critical ? [der.truth()] : []), der.octetString(value));
}

export function alternativeName(host: string): Buffer {
  if (isIPv4(host)) return der.tlv(0x87, Buffer.from(host.split('.').map(Number)));
  if (isIPv6(host)) return der.tlv(0x87, ipv6Bytes(host));
  return der.tlv(0x82, Buffer.from(host, 'latin1'));
}

function ipv6Bytes(address: string): Buffer {
  // The URL parser normalizes every spelling of an address, including a dotted decimal suffix, to groups of hexadecimal digits.
  const [head = '', tail] = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

const publicKeyInfo = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

function keyIdentifier(key: KeyObject): Buffer {
  return createHash('sha256').update(publicKeyInfo(key)).digest().subarray(0, 20);
}

function issuerKeyIdentifier({ certificate, key }: Issuer): Buffer {
  if (certificate === undefined) return keyIdentifier(createPublicKey(key));
  const header = Buffer.concat([der.objectIdentifier('2.5.29.14'), Buffer.from([0x04])]);
  const at = certificate.raw.indexOf(header);
  if (at === -1) return keyIdentifier(certificate.publicKey);
  const [value] = der.elements(
    certificate.raw.subarray(at + header.length + 1, at + header.length + 1 + certificate.raw[at + header.length]!),
  );
  return value!.content;
}

/** The subject's exact encoding: an issuer must match it byte for byte. */
function subjectOf(certificate: X509Certificate): Buffer {
  const [whole] = der.elements(certificate.raw);
  const [body] = der.elements(whole!.content);
  const fields = der.elements(body!.content);
  // version [0], serial number, algorithm, issuer, validity, subject
  return fields[fields[0]!.tag === 0xa0 ? 5 : 4]!.whole;
}
