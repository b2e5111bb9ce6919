import { createHash, randomBytes } from 'node:crypto';

/** A secret that nobody can guess, for cookies and links. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function isSecret(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/** The name under which something with a secret is kept. Comparing names tells nothing about the secret, and a copy of them opens nothing. */
export function nameOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
