import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A file of the server's keys and certificates that is there and cannot be used. */
export class PkiError extends Error {
  override readonly name = 'PkiError';

  constructor(file: string, problem: string, cause?: unknown) {
    super(`${file}: ${problem}`, cause === undefined ? undefined : { cause });
  }
}

/** The text of a file, or undefined when it is not there. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new PkiError(file, `cannot be read (${(error as Error).message}); give this user permission to read it`, error);
  }
}

/** Writes a file so that, whenever the process dies, either the old text or the new one is there, whole and on disk. */
export async function writeAtomically(file: string, text: string, mode: number): Promise<void> {
  // One fixed name: what a killed process left behind is overwritten by the next one.
  const temporary = `${file}.tmp`;
  try {
    const handle = await open(temporary, 'w', mode);
    try {
      await handle.chmod(mode);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
    const directory = await open(dirname(file), 'r');
    await directory.sync().finally(() => directory.close());
  } catch (error) {
    throw new PkiError(
      file,
      `cannot be written (${(error as Error).message}); give this user permission to write the folder, and free disk space`,
      error,
    );
  }
}
