import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { alternativeName, distinguishedName, extension, pem, type SubjectParts, signatureAlgorithm } from './certificate.ts';
import * as der from './der.ts';

export interface RequestParts extends SubjectParts {
  /** Signs the request, which proves that the requester owns the key. */
  readonly key: KeyObject;
  /** Host names and IP addresses. */
  readonly hosts?: readonly string[];
}

/** Creates a certificate request (PKCS #10) in PEM. */
export function createCertificateRequest({ key, hosts = [], ...subject }: RequestParts): string {
  const names = der.sequence(extension('2.5.29.17', der.sequence(...hosts.map(alternativeName))));
  const attribute = der.sequence(der.objectIdentifier('1.2.840.113549.1.9.14'), der.set(names));
  const info = der.sequence(
    der.integer(Buffer.from([0])),
    distinguishedName(subject),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    der.explicit(0, ...(hosts.length > 0 ? [attribute] : [])),
  );
  return pem('CERTIFICATE REQUEST', der.sequence(info, signatureAlgorithm(key), der.bitString(sign('sha256', info, key))));
}
