import { write } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type AuditSink, FailureReport } from './sink.ts';

export interface StdoutOptions {
  readonly onError: (error: Error) => void;
  /** A file descriptor; by default that of the standard output. */
  readonly descriptor?: number;
  /** In characters: what may wait for the reader. */
  readonly mostPending?: number;
}

/** In milliseconds: how long to wait for a reader whose pipe is full. */
const whileFull = 20;
/** In milliseconds: how long a server that stops waits for a reader. */
const atMost = 2_000;

const writeTo = promisify(write);

/**
 * Writes events to the standard output. `process.stdout` writes to pipes and files synchronously, so a reader that does not read would stop the
 * server; this writes from another thread and drops what does not fit.
 */
export class StdoutSink implements AuditSink {
  readonly name = 'stdout';
  readonly #options: Required<StdoutOptions>;
  readonly #report: FailureReport;
  #pending: string[] = [];
  #length = 0;
  #writing: Promise<void> | undefined;
  #dropped = 0;
  #isClosed = false;

  constructor(options: StdoutOptions) {
    this.#options = { descriptor: 1, mostPending: 16 << 20, ...options };
    this.#report = new FailureReport(options.onError);
  }

  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    if (this.#isClosed || this.#length + line.length > this.#options.mostPending) {
      this.#dropped++;
      this.#report.failed(new Error('the standard output is not read fast enough; audit events for it are dropped until it is'));
      return;
    }
    this.#pending.push(line);
    this.#length += line.length;
    this.#writing ??= this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#pending.length > 0 && !this.#isClosed) {
      const lines = this.#pending;
      this.#pending = [];
      this.#length = 0;
      try {
        await this.#all(Buffer.from(lines.join('')));
        this.#report.worked();
      } catch (error) {
        this.#dropped += lines.length;
        this.#report.failed(
          new Error(`audit events cannot be written to the standard output: ${(error as Error).message}`, { cause: error }),
        );
      }
    }
    this.#writing = undefined;
  }

  async #all(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      try {
        at += (await writeTo(this.#options.descriptor, bytes, at)).bytesWritten;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || this.#isClosed) throw error;
        await delay(whileFull);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.race([this.#writing, delay(atMost, undefined, { ref: false })]);
    this.#isClosed = true;
  }
}
