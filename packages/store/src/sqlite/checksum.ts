import { crc32 } from 'node:zlib';

/**
 * Ties a value to its key and revision. SQLite's own check detects a damaged page structure, not a flipped bit inside a value, and the next
 * update would write a wrongly read value back permanently.
 */
export function checksum(revision: number, key: string, value: string): number {
  return crc32(value, crc32(key, revision % 0x100000000));
}

/** A row of the log is missing, or does not contain what was written to it. */
export class DamagedRowError extends Error {
  constructor(revision: number, key: string) {
    super(`the value of ${key} at revision ${revision} is missing or does not match its checksum`);
    this.name = 'DamagedRowError';
  }
}
