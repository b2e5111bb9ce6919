import { Place } from './place.ts';
import { readArchive } from './read.ts';

export interface ExtractOptions {
  /** An existing folder, as a string of bytes. Nothing is written outside. */
  readonly folder: string;
  /** The path of an entry in the folder; undefined leaves it out. */
  readonly pathOf?: (path: string) => string | undefined;
  readonly onBytes?: ((count: number) => void) | undefined;
  readonly onSkipped?: ((path: string, why: string) => void) | undefined;
}

/**
 * Writes the files of an archive, which nobody has to trust: entries never go through links, links never lead out of the folder, and nothing becomes
 * more than a file with permissions. Resolves with the number of files and links.
 */
export async function extractArchive(source: AsyncIterable<Buffer>, options: ExtractOptions): Promise<number> {
  const { folder, pathOf = (path: string) => path, onSkipped } = options;
  const skipped = (path: string, why: string): void => onSkipped?.(path, why);
  const place = new Place(folder);
  let count = 0;
  for await (const entry of readArchive(source, { onSkipped: skipped })) {
    const path = pathOf(entry.path);
    if (path === undefined || (path === '' && entry.type !== 'folder')) continue;
    if (entry.type === 'folder') {
      await place.folder(path, entry.mode);
      continue;
    }
    await place.folder(path.split('/').slice(0, -1).join('/'), 0o755);
    if (entry.type === 'link' && !staysInside(path, entry.target ?? ''))
      skipped(entry.path, `it leads out of the folder, to ${entry.target}`);
    else {
      await place.write(path, entry, options.onBytes);
      count++;
    }
  }
  return count;
}

/** `..` only at the start: after the name of another link it would lead somewhere else than it seems. */
export function staysInside(path: string, target: string): boolean {
  if (target === '' || target.startsWith('/') || target.includes('\0')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const firstName = parts.findIndex((part) => part !== '..');
  const ups = firstName < 0 ? parts.length : firstName;
  return ups < path.split('/').length && !parts.slice(ups).includes('..');
}
