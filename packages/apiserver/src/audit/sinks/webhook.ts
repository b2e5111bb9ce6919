import { setTimeout as delay } from 'node:timers/promises';
import { Backoff, type BackoffOptions } from '@capstan/machinery';
import { Poster, type WebhookConnection } from '../../authz/webhook/client.ts';
import { type AuditSink, FailureReport } from './sink.ts';

export interface WebhookSinkOptions {
  readonly connection: WebhookConnection;
  /** How many events a request has at most. */
  readonly batchSize?: number;
  /** In milliseconds: how long an event waits for others. */
  readonly batchDelay?: number;
  /** How many events may wait. Beyond it, events are dropped and counted. */
  readonly bufferSize?: number;
  /** How often a batch is sent before it is dropped. */
  readonly attempts?: number;
  /** In milliseconds, of one attempt. */
  readonly timeout?: number;
  readonly backoff?: BackoffOptions;
  readonly onError: (error: Error) => void;
}

/** The sizes are those of kube-apiserver's flags `--audit-webhook-batch-…`. */
const defaults = {
  batchSize: 400,
  batchDelay: 5_000,
  bufferSize: 10_000,
  attempts: 10,
  timeout: 30_000,
  backoff: { base: 1_000, max: 60_000, random: Math.random },
} as const;

/** In characters: events with bodies are large, so their number alone does not limit memory, nor the size of a request. */
const mostPending = 64 << 20;
const mostInBatch = 8 << 20;
/** In milliseconds: how long a server that stops goes on sending. */
const atMost = 5_000;

const head = '{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[';

/**
 * Posts events to a webhook in batches, as kube-apiserver does. One batch is sent at a time, so events arrive in order. Nothing ever waits for the webhook: a slow or dead
 * one loses events, which are counted.
 */
export class WebhookSink implements AuditSink {
  readonly name = 'webhook';
  readonly #options: Required<WebhookSinkOptions>;
  readonly #poster: Poster;
  readonly #report: FailureReport;
  readonly #stop = new AbortController();
  #waiting: string[] = [];
  #length = 0;
  /** Set while a batch is collected. */
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #dropped = 0;

  constructor(options: WebhookSinkOptions) {
    this.#options = { ...defaults, ...options };
    const { connection, timeout } = this.#options;
    this.#poster = new Poster({ connection, timeout, userAgent: 'capstan-audit', attempts: 1 });
    this.#report = new FailureReport(options.onError);
  }

  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    const { bufferSize, batchSize, batchDelay } = this.#options;
    if (this.#waiting.length >= bufferSize || this.#length + line.length > mostPending || this.#stop.signal.aborted) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(line);
    this.#length += line.length;
    if (this.#sending !== undefined) return;
    if (this.#waiting.length >= batchSize) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), batchDelay).unref();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#send(this.#take());
  }

  #take(): string[] {
    let [count, length] = [0, 0];
    while (
      count < this.#waiting.length &&
      count < this.#options.batchSize &&
      (count === 0 || length + this.#waiting[count]!.length <= mostInBatch)
    )
      length += this.#waiting[count++]!.length;
    this.#length -= length;
    return this.#waiting.splice(0, count);
  }

  async #send(batch: readonly string[]): Promise<void> {
    const { attempts, backoff } = this.#options;
    const body = `${head}${batch.map((line) => line.trimEnd()).join(',')}]}`;
    const waits = new Backoff(backoff);
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#poster.post(body);
        return this.#report.worked();
      } catch (error) {
        this.#report.failed(new Error(`the audit webhook does not take events: ${(error as Error).message}`, { cause: error }));
      }
      if (attempt >= attempts || this.#stop.signal.aborted) {
        this.#dropped += batch.length;
        return;
      }
      // A server that stops does not wait, but tries each batch once more.
      await delay(waits.next(), undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#begin();
    await Promise.race([this.#sending, delay(atMost, undefined, { ref: false })]);
    this.#dropped += this.#waiting.length;
    this.#waiting = [];
    this.#poster[Symbol.dispose]();
  }
}
