import { createHash, createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SshError } from '../error.ts';
import type { HostKey } from '../host-key.ts';
import { message } from '../wire/messages.ts';
import { WireReader } from '../wire/reader.ts';
import { messageOf, WireWriter } from '../wire/writer.ts';
import { type CipherName, keyLengthOf, nonceLength, PacketCipher } from './cipher.ts';

const publicKeyLength = 32;

/** Everything that both sides have said so far, which the exchange hash covers. */
export interface Transcript {
  readonly clientVersion: string;
  readonly serverVersion: string;
  readonly clientOffer: Buffer;
  readonly serverOffer: Buffer;
}

export interface ExchangeOptions {
  readonly transcript: Transcript;
  readonly hostKey: HostKey;
  /** The hash of the first exchange of the session; undefined if this is the first. */
  readonly sessionId: Buffer | undefined;
}

export interface Exchanged {
  readonly reply: Buffer;
  readonly sessionId: Buffer;
  readonly cipher: (direction: 'toServer' | 'toClient', name: CipherName) => PacketCipher;
}

/** Answers the client's message of curve25519-sha256 (RFC 8731). */
export function exchangeKeys(payload: Buffer, { transcript, hostKey, sessionId }: ExchangeOptions): Exchanged {
  const reader = new WireReader(payload);
  reader.byte();
  const clientKey = reader.string();
  reader.end();
  const own = generateKeyPairSync('x25519');
  const ownKey = rawKey(own.publicKey);
  const secret = new WireWriter().multiplePrecision(sharedSecret(own.privateKey, clientKey)).finish();
  const hash = sha256(
    new WireWriter()
      .string(transcript.clientVersion)
      .string(transcript.serverVersion)
      .string(transcript.clientOffer)
      .string(transcript.serverOffer)
      .string(hostKey.publicBlob)
      .string(clientKey)
      .string(ownKey)
      .bytes(secret)
      .finish(),
  );
  const session = sessionId ?? hash;
  const derive = (letter: string, length: number): Buffer => derived({ secret, hash, session, letter }, length);
  return {
    reply: messageOf(message.ecdhReply).string(hostKey.publicBlob).string(ownKey).string(hostKey.sign(hash)).finish(),
    sessionId: session,
    cipher: (direction, name) => {
      const [nonce, key] = direction === 'toServer' ? ['A', 'C'] : ['B', 'D'];
      return new PacketCipher(name, derive(key!, keyLengthOf(name)), derive(nonce!, nonceLength));
    },
  };
}

export const rawKey = (key: KeyObject): Buffer => Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');

export function sharedSecret(privateKey: KeyObject, other: Buffer): Buffer {
  if (other.length !== publicKeyLength)
    throw new SshError('keyExchangeFailed', `expected a public key of ${publicKeyLength} bytes, found ${other.length}`);
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: other.toString('base64url') }, format: 'jwk' });
    const secret = diffieHellman({ privateKey, publicKey });
    // Keys of small order lead to zero, whatever our key is.
    if (secret.some((byte) => byte !== 0)) return secret;
  } catch (error) {
    throw new SshError('keyExchangeFailed', 'the public key of the client is not usable', error);
  }
  throw new SshError('keyExchangeFailed', 'the public key of the client is not usable');
}

interface Derivation {
  readonly secret: Buffer;
  readonly hash: Buffer;
  readonly session: Buffer;
  readonly letter: string;
}

/** RFC 4253, section 7.2. */
export function derived({ secret, hash, session, letter }: Derivation, length: number): Buffer {
  let key = sha256(secret, hash, Buffer.from(letter), session);
  while (key.length < length) key = Buffer.concat([key, sha256(secret, hash, key)]);
  return key.subarray(0, length);
}

function sha256(...parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}
