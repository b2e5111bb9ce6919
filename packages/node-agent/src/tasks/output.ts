import { appendFileSync, existsSync, lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeTaskStatus } from '@capstan/api';

/** The output of tasks, in one file each, up to a limit. */
export class TaskOutput {
  readonly #directory: string;
  readonly #limit: number;
  readonly #isCut: (key: string) => Promise<boolean>;
  readonly #written = new Map<string, number>();

  /** `isCut`: whether the process that writes the output of a key had more of it. */
  constructor({
    directory,
    limit,
    isCut = async () => false,
  }: {
    readonly directory: string;
    readonly limit: number;
    readonly isCut?: (key: string) => Promise<boolean>;
  }) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#directory = directory;
    this.#limit = limit;
    this.#isCut = isCut;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Output beyond the limit is discarded. */
  append(key: string, text: string): void {
    const written = this.#written.get(key) ?? 0;
    const bytes = Buffer.from(text);
    this.#written.set(key, written + bytes.length);
    if (written >= this.#limit) return;
    appendFileSync(this.file(key), bytes.subarray(0, this.#limit - written), { mode: 0o600 });
  }

  /** The output is in another file. Agents after this one find it, too. */
  redirect(key: string, file: string): void {
    try {
      symlinkSync(file, this.file(key));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }

  file(key: string): string {
    return join(this.#directory, key);
  }

  /** Says how much of the output the control plane has. */
  sentFile(key: string): string {
    return join(this.#directory, `${key}.sent`);
  }

  #expiredFile(key: string): string {
    return join(this.#directory, `${key}.expired`);
  }

  async remove(key: string): Promise<void> {
    this.#written.delete(key);
    for (const file of [this.file(key), this.sentFile(key), this.#expiredFile(key)]) await rm(file, { force: true });
  }

  /** Whether there is output, if only as a link. */
  has(key: string): boolean {
    return lstatSync(this.file(key), { throwIfNoEntry: false }) !== undefined;
  }

  /** Deletes output that was kept long enough, and remembers that. */
  async expire(key: string): Promise<void> {
    await writeFile(this.#expiredFile(key), '', { mode: 0o600 });
    this.#written.delete(key);
    await rm(this.file(key), { force: true });
  }

  isExpired(key: string): boolean {
    return existsSync(this.#expiredFile(key));
  }

  /** The attempts that something is kept of. */
  async keys(): Promise<ReadonlySet<string>> {
    return new Set((await readdir(this.#directory)).map((name) => name.split('.', 1)[0]!));
  }

  /** Undefined if there is no output. */
  async size(key: string): Promise<NodeTaskStatus['output']> {
    const found = await stat(this.file(key)).catch(() => undefined);
    const truncated = (this.#written.get(key) ?? 0) > this.#limit || (await this.#isCut(key));
    // A full disk may have no room for the file either.
    return found === undefined && !truncated ? undefined : { bytes: found?.size ?? 0, truncated };
  }

  /** The text at the end of output that was cut; empty if none was. */
  async truncationMark(key: string): Promise<string> {
    const size = await this.size(key);
    return size?.truncated === true ? `\n[the node keeps ${size.bytes} bytes of output; the rest was discarded]\n` : '';
  }
}
