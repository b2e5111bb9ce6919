import { KernelRecords } from '../../kernel/records.ts';
import { parseXids, type XidEvent } from './kernel-log.ts';

export interface KernelMessagesOptions {
  /** `/dev/kmsg` except in tests. */
  readonly path?: string;
  /** When the machine started, in milliseconds since 1970. */
  readonly bootedAt: () => number;
  readonly now: () => number;
}

/** The Xids in the kernel's messages. */
export class KernelMessages implements AsyncDisposable {
  readonly #options: KernelMessagesOptions;
  readonly #records: KernelRecords;

  constructor(options: KernelMessagesOptions) {
    this.#options = options;
    this.#records = new KernelRecords(options.path);
  }

  /** The Xids since the last call. Rejects if the messages cannot be read. */
  async read(): Promise<XidEvent[]> {
    const text = await this.#records.read('NVRM: Xid');
    return parseXids(text, { bootedAt: this.#options.bootedAt(), now: this.#options.now() });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#records[Symbol.asyncDispose]();
  }
}
