import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fieldsOf, textOf } from '@capstan/machinery';

/** A session as it lies in the file: who has neither the key file nor the cookie cannot open it. */
export interface SealedSession {
  readonly name: string;
  readonly sealed: string;
  readonly usedAt: number;
  readonly endsAt: number;
  /** A hash, to count the sessions of one user. */
  readonly owner: string;
}

const keyLength = 32;
const nonceLength = 12;
const tagLength = 16;

/**
 * Keeps sessions in a file over restarts. Each is encrypted with a key that is derived from a file of mode 0600 and from the secret in the browser's cookie, so that
 * a copy of the whole directory contains no token that can be used.
 */
export class Vault {
  readonly #file: string;
  readonly #key: Buffer;

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    chmodSync(directory, 0o700);
    this.#file = join(directory, 'sessions.json');
    this.#key = readKey(join(directory, 'sessions.key'));
  }

  seal(key: Buffer, text: string): string {
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv('aes-256-gcm', key, nonce);
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64');
  }

  /** Undefined if the text was sealed with another key, or was changed. */
  open(key: Buffer, sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64');
    if (bytes.length < nonceLength + tagLength) return undefined;
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceLength));
      decipher.setAuthTag(bytes.subarray(nonceLength, nonceLength + tagLength));
      return Buffer.concat([decipher.update(bytes.subarray(nonceLength + tagLength)), decipher.final()]).toString('utf8');
    } catch {
      return undefined;
    }
  }

  /** The key for the session with this secret. */
  keyFor(secret: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#key, secret, 'capstan console session', keyLength));
  }

  /** An unreadable file means that everybody signs in again. */
  read(): SealedSession[] {
    try {
      const list: unknown = JSON.parse(readFileSync(this.#file, 'utf8'));
      return Array.isArray(list) ? list.flatMap(sealedOf) : [];
    } catch {
      return [];
    }
  }

  write(sessions: readonly SealedSession[]): void {
    const temporary = `${this.#file}.new`;
    writeFileSync(temporary, JSON.stringify(sessions), { mode: 0o600 });
    renameSync(temporary, this.#file);
  }
}

function sealedOf(value: unknown): SealedSession[] {
  const { name, sealed, usedAt, endsAt, owner } = fieldsOf(value);
  return typeof usedAt === 'number' && typeof endsAt === 'number' && textOf(name) !== '' && textOf(sealed) !== ''
    ? [{ name: textOf(name), sealed: textOf(sealed), usedAt, endsAt, owner: textOf(owner) }]
    : [];
}

/** Others must not be able to read it. A key of the wrong length is replaced, which ends all sessions. */
function readKey(file: string): Buffer {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  if (mode !== undefined) {
    if ((mode & 0o077) !== 0) chmodSync(file, 0o600);
    const key = readFileSync(file);
    if (key.length === keyLength) return key;
  }
  const key = randomBytes(keyLength);
  writeFileSync(file, key, { mode: 0o600 });
  return key;
}
