import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { WireWriter } from './wire/writer.ts';

export const hostKeyAlgorithm = 'ssh-ed25519';

/** The ed25519 key by which a client knows the server. */
export class HostKey {
  readonly #key: KeyObject;
  /** The public key as it is sent, and as it is listed in `known_hosts`. */
  readonly publicBlob: Buffer;

  private constructor(key: KeyObject) {
    this.#key = key;
    const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
    this.publicBlob = new WireWriter().string(hostKeyAlgorithm).string(Buffer.from(x, 'base64url')).finish();
  }

  static generate(): HostKey {
    return new HostKey(generateKeyPairSync('ed25519').privateKey);
  }

  /** Throws if the text is not an ed25519 key. */
  static fromPem(pem: string): HostKey {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType !== 'ed25519') throw new Error(`expected an ed25519 key, found ${key.asymmetricKeyType}`);
    return new HostKey(key);
  }

  toPem(): string {
    return this.#key.export({ type: 'pkcs8', format: 'pem' }).toString();
  }

  /** A line of `known_hosts` for hosts that match the pattern. */
  knownHosts(pattern: string): string {
    return `${pattern} ${hostKeyAlgorithm} ${this.publicBlob.toString('base64')}\n`;
  }

  sign(bytes: Buffer): Buffer {
    return new WireWriter()
      .string(hostKeyAlgorithm)
      .string(sign(null, bytes, this.#key))
      .finish();
  }
}
