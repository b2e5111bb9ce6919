import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A log on the disk. */
export interface StoredLog {
  readonly folder: string;
  readonly owner: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

/** The owner, three names and the run. */
const depth = 5;

/** All logs. Folders that vanish meanwhile are left out. */
export async function logsBelow(directory: string): Promise<StoredLog[]> {
  const found: StoredLog[] = [];
  const walk = async (folder: string, names: readonly string[]): Promise<void> => {
    const entries = await readdir(folder).catch(() => []);
    if (names.length < depth) {
      for (const entry of entries) await walk(join(folder, entry), [...names, entry]);
      return;
    }
    const files = await Promise.all(entries.map((entry) => stat(join(folder, entry)).catch(() => undefined)));
    const known = files.filter((file) => file !== undefined);
    const bytes = known.reduce((sum, { size }) => sum + size, 0);
    found.push({ folder, owner: names[0]!, bytes, changedAt: Math.max(0, ...known.map(({ mtimeMs }) => mtimeMs)) });
  };
  await walk(directory, []);
  return found;
}

export const totalOf = (sizes: ReadonlyMap<string, number>): number => [...sizes.values()].reduce((sum, size) => sum + size, 0);
