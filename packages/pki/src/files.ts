import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A file of the server's keys and certificates exists but is unusable. */
export class PkiError extends Error {
  override readonly name = 'PkiError';

  constructor(file: string, problem: string, cause?: unknown) {
    super(`${file}: ${problem}`, cause === undefined ? undefined : { cause });
  }
}

/** The text of a file, or undefined if it does not exist. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new PkiError(file, `cannot be read (${(error as Error).message}); give this user permission to read it`, error);
  }
}

/** Writes a file atomically and durably: if the process dies, the file has either its old or its new text. */
export async function writeAtomically(file: string, text: string, mode: number): Promise<void> {
  // A fixed name, so that the next process overwrites what a killed one left behind.
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
