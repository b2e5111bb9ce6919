import { readdirSync, readlinkSync, statSync } from 'node:fs';

/** The size of the SQLite files that these processes have open, in MB; undefined if there are none or they are not visible. */
export function storeMegabytes(pids: readonly number[]): number | undefined {
  const files = new Set<string>();
  for (const pid of pids) {
    try {
      for (const descriptor of readdirSync(`/proc/${pid}/fd`)) {
        const target = readlinkSync(`/proc/${pid}/fd/${descriptor}`);
        if (/\.(?:db|sqlite)(?:-wal)?$/.test(target)) files.add(target);
      }
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
  if (files.size === 0) return undefined;
  let bytes = 0;
  for (const file of files) bytes += statSync(file).size;
  return bytes / 1024 / 1024;
}
