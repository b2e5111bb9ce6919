import { createHash, randomBytes } from 'node:crypto';

const length = 16;

/** A new id of a workspace: so many that no two are ever the same. */
export function newClusterId(): string {
  for (;;) {
    const id = BigInt(`0x${randomBytes(28).toString('hex')}`)
      .toString(36)
      .slice(0, length);
    if (id.length === length) return id;
  }
}

/** The id of a user's home: the same whenever they come. */
export function homeClusterId(user: string): string {
  return createHash('sha224').update(user).digest().readBigUInt64BE(0).toString(36);
}
