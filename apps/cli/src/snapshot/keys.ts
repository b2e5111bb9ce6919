import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '@capstan/store';
import { Failure } from '../failure.ts';

/*
 * The keys of an installation, as the last line of a snapshot:
 *
 *   {"format":"capstan-keys","version":1,"cost":131072,"salt":"…","nonce":"…","sealed":"…"}
 *
 * `sealed` is the text of the files in pki/, as JSON, encrypted and authenticated by AES-256-GCM with a key that scrypt derives from the passphrase. The store's part of the
 * file ends before this line, so a reader of objects does not see it.
 */

const format = 'capstan-keys';
const version = 1;
/** About a third of a second and 128 MiB per guess. */
const cost = 1 << 17;
const tagBytes = 16;

interface SealedKeys {
  readonly format: typeof format;
  readonly version: number;
  readonly cost: number;
  readonly salt: string;
  readonly nonce: string;
  readonly sealed: string;
}

type Files = Readonly<Record<string, string>>;

/** The line that contains the files of a pki folder. */
export function sealKeys(pkiDirectory: string, passphrase: string): string {
  const names = existsSync(pkiDirectory) ? readdirSync(pkiDirectory).filter(isKeyFile) : [];
  if (names.length === 0)
    throw new Failure(
      'usage',
      `there are no keys in ${pkiDirectory}. Name the server's data directory with --data-dir, or leave the keys out with --without-keys.`,
    );
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(pkiDirectory, name), 'utf8')]));
  const [salt, nonce] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv('aes-256-gcm', keyOf(passphrase, salt, cost), nonce);
  const sealed = Buffer.concat([cipher.update(JSON.stringify(files)), cipher.final(), cipher.getAuthTag()]);
  const line: SealedKeys = { format, version, cost, salt: text(salt), nonce: text(nonce), sealed: text(sealed) };
  return JSON.stringify(line);
}

/** The sealed keys at the end of a snapshot; undefined if it has none. */
export function sealedKeysIn(file: string): string | undefined {
  const line = endOf(file).trimEnd().split('\n').at(-1) ?? '';
  return line.startsWith(`{"format":"${format}"`) ? line : undefined;
}

/** The end of the file, more than enough for the line with the keys: a whole snapshot may not fit into a string. */
function endOf(file: string): string {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const end = Buffer.alloc(Math.min(size, 1 << 20));
    readSync(descriptor, end, 0, end.length, size - end.length);
    return end.toString();
  } finally {
    closeSync(descriptor);
  }
}

/** Writes the keys of a snapshot into a pki folder. Existing keys must be the same. */
export function restoreKeys(line: string, passphrase: string, pkiDirectory: string): void {
  const files = openKeys(line, passphrase);
  for (const [name, content] of Object.entries(files)) {
    const file = join(pkiDirectory, name);
    if (existsSync(file) && readFileSync(file, 'utf8') !== content)
      throw new Failure(
        'usage',
        `${file} already exists, and differs from the snapshot. Choose another directory with --data-dir, or keep its keys with --without-keys.`,
      );
  }
  makeDirectory(pkiDirectory);
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(pkiDirectory, name), content, { mode: name.endsWith('.crt') ? 0o644 : 0o600 });
}

function openKeys(line: string, passphrase: string): Files {
  const { version: given, cost: work, salt, nonce, sealed } = JSON.parse(line) as SealedKeys;
  if (given !== version)
    throw new Failure('snapshotDamaged', `the keys in the snapshot have version ${given}, but this version of Capstan reads ${version}.`);
  const bytes = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', keyOf(passphrase, Buffer.from(salt, 'base64'), work), Buffer.from(nonce, 'base64'));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const opened = Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()]);
    return Object.fromEntries(Object.entries(JSON.parse(opened.toString()) as Files).filter(([name]) => isKeyFile(name)));
  } catch (error) {
    throw new Failure(
      'usage',
      'the keys in the snapshot cannot be decrypted: the passphrase is wrong, or the file is damaged. Nothing was restored.',
      error,
    );
  }
}

function keyOf(passphrase: string, salt: Buffer, work: number): Buffer {
  return scryptSync(passphrase, salt, 32, { N: work, r: 8, p: 1, maxmem: 256 << 20 });
}

/** The folder contains nothing else, and such a name cannot lead out of it. */
const isKeyFile = (name: string): boolean => /^([\w-]+\.(crt|key)|rotation\.json)$/.test(name);
const text = (bytes: Buffer): string => bytes.toString('base64');
