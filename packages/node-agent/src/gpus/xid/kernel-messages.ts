import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { parseXids, type XidEvent } from './kernel-log.ts';

export interface KernelMessagesOptions {
  /** `/dev/kmsg` except in tests. */
  readonly path?: string;
  /** When the machine started, in milliseconds since 1970. */
  readonly bootedAt: () => number;
  readonly now: () => number;
}

/** The most records that are read at once; the rest follows with the next call. */
const maxRecords = 10_000;

/** The kernel's messages, from the oldest that the kernel still has. Needs no process and never blocks. */
export class KernelMessages implements AsyncDisposable {
  readonly #options: KernelMessagesOptions;
  readonly #buffer = Buffer.alloc(16_384);
  #file: FileHandle | undefined;

  constructor(options: KernelMessagesOptions) {
    this.#options = options;
  }

  /** The Xids since the last call. Rejects if the messages cannot be read. */
  async read(): Promise<XidEvent[]> {
    this.#file ??= await open(this.#options.path ?? '/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK);
    let text = '';
    for (let record = 0; record < maxRecords; record++) {
      const part = await this.#record(this.#file);
      if (part === undefined) break;
      // Each read of /dev/kmsg is a record; all but Xids are dropped at once.
      if (part === '' || part.includes('NVRM: Xid')) text += part;
    }
    return parseXids(text, { bootedAt: this.#options.bootedAt(), now: this.#options.now() });
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
