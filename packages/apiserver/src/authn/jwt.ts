import { sign, verify } from 'node:crypto';
import type { SigningKey, VerificationKey } from '@capstan/pki';

export type Claims = Readonly<Record<string, unknown>>;

/** A decoded token that has not been verified. */
export interface Unverified {
  readonly header: Claims;
  readonly claims: Claims;
  readonly signed: string;
  readonly signature: Buffer;
}

const shape = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Decodes a token; undefined if it is not a signed JWT. */
export function decode(token: string): Unverified | undefined {
  if (!shape.test(token)) return undefined;
  const [header = '', claims = '', signature = ''] = token.split('.');
  const parsedHeader = parsePart(header);
  const parsedClaims = parsePart(claims);
  if (parsedHeader === undefined || parsedClaims === undefined) return undefined;
  const bytes = Buffer.from(signature, 'base64url');
  // Accept only the canonical encoding of the signature: decoding ignores some bits of the last character.
  if (bytes.toString('base64url') !== signature) return undefined;
  return { header: parsedHeader, claims: parsedClaims, signed: token.slice(0, header.length + 1 + claims.length), signature: bytes };
}

export function parsePart(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Claims) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the key made the signature. The key determines the algorithm, never the token alone. */
export function isSignedBy(token: Unverified, { algorithm, publicKey }: VerificationKey): boolean {
  if (token.header['alg'] !== algorithm || token.header['crit'] !== undefined) return false;
  return verify('sha256', Buffer.from(token.signed), { key: publicKey, dsaEncoding: 'ieee-p1363' }, token.signature);
}

/** The same for a text that is no JSON Web Token. Only the canonical encoding of the signature is accepted. */
export function verifies(signed: string, signature: string, { publicKey }: VerificationKey): boolean {
  const bytes = Buffer.from(signature, 'base64url');
  return (
    bytes.toString('base64url') === signature && verify('sha256', Buffer.from(signed), { key: publicKey, dsaEncoding: 'ieee-p1363' }, bytes)
  );
}

export function encode(claims: Claims, key: SigningKey): string {
  const signed = `${partOf({ alg: key.algorithm, kid: key.kid })}.${partOf(claims)}`;
  return `${signed}.${signatureOf(signed, key)}`;
}

export function partOf(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export function signatureOf(text: string, { privateKey }: SigningKey): string {
  return sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}
