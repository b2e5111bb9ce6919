import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

export interface RememberedOptions {
  readonly file: string;
  /** How many of the latest names are kept. */
  readonly limit: number;
  readonly isName: (name: string) => boolean;
}

/** The latest names of something, on the disk. */
export class RememberedNames implements AsyncDisposable {
  readonly #names: Set<string>;
  readonly #file: FileHandle;
  readonly #limit: number;

  private constructor(names: Set<string>, file: FileHandle, limit: number) {
    this.#names = names;
    this.#file = file;
    this.#limit = limit;
  }

  static async open({ file, limit, isName }: RememberedOptions): Promise<RememberedNames> {
    const text = await readFile(file, 'utf8').catch(ignoreMissing);
    const all = text.split('\n').filter(isName);
    const names = new Set(all.slice(-limit));
    if (all.length > 2 * limit) await shorten(file, names);
    // Appended to, never replaced: a full disk must not cost the names that are there.
    return new RememberedNames(names, await open(file, 'a', 0o600), limit);
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Until the agent ends. */
  note(name: string): void {
    this.#names.delete(name);
    this.#names.add(name);
    if (this.#names.size > this.#limit) this.#names.delete(this.#names.values().next().value!);
  }

  /** Resolves when the name is on the disk. */
  async add(name: string): Promise<void> {
    // The newline first ends a line that an earlier, failed write may have left unfinished.
    await this.#file.appendFile(`\n${name}\n`);
    await this.#file.datasync();
    this.note(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

/** The UIDs of the latest allocations after which the node was cleaned. */
export function openCleaned(stateDirectory: string): Promise<RememberedNames> {
  return RememberedNames.open({ file: join(stateDirectory, 'cleaned'), limit: 10_000, isName: (name) => /^[a-z0-9-]+$/.test(name) });
}

/** A file that stays too long does no harm. */
async function shorten(file: string, names: ReadonlySet<string>): Promise<void> {
  const draft = `${file}.new`;
  try {
    const handle = await open(draft, 'w', 0o600);
    try {
      await handle.writeFile(`${[...names].join('\n')}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch {
    await rm(draft, { force: true }).catch(() => {});
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return '';
  throw error;
}
