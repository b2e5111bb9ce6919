import { createCipheriv, createDecipheriv, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { StatusError } from '@capstan/machinery';
import type { Places } from './merge.ts';
import type { LogPosition } from './scan.ts';

const keyLength = 32;

/** A key for tokens that every server with the same private key derives. */
export function cursorKey(secret: KeyObject): Buffer {
  const bytes = secret.export({ type: 'pkcs8', format: 'der' });
  return Buffer.from(hkdfSync('sha256', bytes, Buffer.alloc(0), 'capstan audit continue token', keyLength));
}

/**
 * Where a query goes on, as text for its client. It is encrypted, because offsets would tell how much is written about others. It belongs to one workspace, and
 * to the servers that have the key.
 */
export class Cursors {
  readonly #key: Buffer;

  constructor(key: Buffer = randomBytes(keyLength)) {
    this.#key = key;
  }

  seal(places: Places, cluster: string): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(cluster));
    const text = cipher.update(JSON.stringify([...places]), 'utf8');
    return Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]).toString('base64url');
  }

  open(token: string, cluster: string): Places {
    try {
      const bytes = Buffer.from(token, 'base64url');
      // The decoder ignores what does not belong there.
      if (bytes.toString('base64url') !== token) throw expired();
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, 12)).setAAD(Buffer.from(cluster));
      decipher.setAuthTag(bytes.subarray(-16));
      const text = decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8');
      return new Map(JSON.parse(text) as [string, LogPosition | 'missing'][]);
    } catch {
      throw expired();
    }
  }
}

/** Also for tokens that nobody issued: who made one up learns nothing. */
export function expired(): StatusError {
  return new StatusError({
    code: 410,
    reason: 'Expired',
    message: 'continue: the token is not valid, or no longer; query again without it',
  });
}
