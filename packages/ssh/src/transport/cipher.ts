import { createCipheriv, createDecipheriv } from 'node:crypto';
import { SshError } from '../error.ts';

/** AES-GCM as in RFC 5647, with the names and the choice of algorithms of OpenSSH. The length of a packet is authenticated, not encrypted. */
const ciphers = {
  'aes256-gcm@openssh.com': { algorithm: 'aes-256-gcm', keyLength: 32 },
  'aes128-gcm@openssh.com': { algorithm: 'aes-128-gcm', keyLength: 16 },
} as const;

export type CipherName = keyof typeof ciphers;

export const cipherNames = Object.keys(ciphers) as readonly CipherName[];
export const nonceLength = 12;
export const tagLength = 16;
export const keyLengthOf = (name: CipherName): number => ciphers[name].keyLength;

/** One direction of a connection between two key exchanges. */
export class PacketCipher {
  readonly #name: CipherName;
  readonly #key: Buffer;
  readonly #nonce: Buffer;

  constructor(name: CipherName, key: Buffer, nonce: Buffer) {
    this.#name = name;
    this.#key = key;
    this.#nonce = Buffer.from(nonce);
  }

  /** The encrypted packet and its tag. */
  seal(length: Buffer, packet: Buffer): readonly Buffer[] {
    const cipher = createCipheriv(ciphers[this.#name].algorithm, this.#key, this.#nextNonce());
    cipher.setAAD(length);
    return [cipher.update(packet), cipher.final(), cipher.getAuthTag()];
  }

  /** Fails if a byte was changed, or a packet is missing. */
  open(length: Buffer, sealed: Buffer): Buffer {
    const decipher = createDecipheriv(ciphers[this.#name].algorithm, this.#key, this.#nextNonce(), { authTagLength: tagLength });
    decipher.setAAD(length).setAuthTag(sealed.subarray(sealed.length - tagLength));
    const packet = decipher.update(sealed.subarray(0, -tagLength));
    try {
      decipher.final();
    } catch (error) {
      throw new SshError('macError', 'a packet was changed on its way', error);
    }
    return packet;
  }

  /** The first four bytes are fixed; the others count packets. */
  #nextNonce(): Buffer {
    const used = Buffer.from(this.#nonce);
    this.#nonce.writeBigUInt64BE(BigInt.asUintN(64, this.#nonce.readBigUInt64BE(4) + 1n), 4);
    return used;
  }
}
