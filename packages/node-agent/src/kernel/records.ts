import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** The most records that are read at once; the rest follows with the next call. */
const mostRecords = 10_000;

/** The kernel's messages, from the oldest that the kernel still has. Needs no process and never blocks. */
export class KernelRecords implements AsyncDisposable {
  readonly #path: string;
  readonly #buffer = Buffer.alloc(16_384);
  #file: Promise<FileHandle> | undefined;

  constructor(path = '/dev/kmsg') {
    this.#path = path;
  }

  /** The records since the last call that contain the text. Rejects if the messages cannot be read. */
  async read(wanted: string): Promise<string> {
    this.#file ??= open(this.#path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
      this.#file = undefined;
      throw error;
    });
    const file = await this.#file;
    let text = '';
    for (let record = 0; record < mostRecords; record++) {
      const part = await this.#record(file);
      if (part === undefined) break;
      // Each read of /dev/kmsg is a record; all others are dropped at once.
      if (part.includes(wanted)) text += part;
    }
    return text;
  }

  /** Undefined at the end; empty for records that were overwritten before they were read. */
  async #record(file: FileHandle): Promise<string | undefined> {
    try {
      const { bytesRead } = await file.read(this.#buffer, 0, this.#buffer.length, null);
      return bytesRead === 0 ? undefined : this.#buffer.toString('utf8', 0, bytesRead);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') return undefined;
      if (code === 'EPIPE') return '';
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    // It may be opened at this moment.
    await file?.then(
      (one) => one.close(),
      () => {},
    );
  }
}
