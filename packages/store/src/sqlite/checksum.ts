import { crc32 } from 'node:zlib';

/**
 * Ties a value to its key and revision. SQLite's own check sees a damaged page structure, not a flipped bit inside of a value, and a value that was read
 * wrongly once would be written back for good by the next update.
 */
export function checksum(revision: number, key: string, value: string): number {
  return crc32(value, crc32(key, revision % 0x100000000));
}

/** A row of the log is lost, or does not hold what was written to it. */
export class DamagedRowError extends Error {
  constructor(revision: number, key: string) {
    super(`the value of ${key} at revision ${revision} is lost or does not match its checksum`);
    this.name = 'DamagedRowError';
  }
}
