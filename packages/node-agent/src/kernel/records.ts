import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** The most records that are read at once; the rest follows with the next call. */
const mostRecords = 10_000;

/** The kernel's messages, from the oldest that the kernel still has. Needs no process and never blocks. */
export class KernelRecords implements AsyncDisposable {
  readonly #path: string;
  readonly #buffer = Buffer.alloc(16_384);
  #file: FileHandle | undefined;

  constructor(path = '/dev/kmsg') {
    this.#path = path;
  }

  /** The records since the last call that contain the text. Rejects if the messages cannot be read. */
  async read(wanted: string): Promise<string> {
    this.#file ??= await open(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
    let text = '';
    for (let record = 0; record < mostRecords; record++) {
      const part = await this.#record(this.#file);
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
    await this.#file?.close();
    this.#file = undefined;
  }
}
