import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';

/*
 * The owner of a directory, for the error message of a second process. The actual lock is SQLite's lock on the file: the kernel releases it
 * when its holder dies, so a leftover owner file never locks anybody out.
 */

const ownerFile = 'owner.json';

export function recordOwner(directory: string, since: Date): void {
  const owner = { pid: process.pid, host: hostname(), since: since.toISOString() };
  try {
    writeFileSync(path.join(directory, ownerFile), `${JSON.stringify(owner)}\n`);
  } catch {
    // On a full disk the store still opens for reading; the error message is then less precise.
  }
}

export function forgetOwner(directory: string): void {
  rmSync(path.join(directory, ownerFile), { force: true });
}

/** A phrase such as "process 42 on host a since 2026-01-01T00:00:00.000Z". */
export function describeOwner(directory: string): string {
  try {
    const owner: unknown = JSON.parse(readFileSync(path.join(directory, ownerFile), 'utf8'));
    if (isOwner(owner)) return `process ${owner.pid} on host ${owner.host} since ${owner.since}`;
  } catch {
    // The owner has not written it yet, or is just closing the store.
  }
  return 'another process';
}

function isOwner(value: unknown): value is { pid: number; host: string; since: string } {
  return typeof value === 'object' && value !== null && 'pid' in value && 'host' in value && 'since' in value;
}
