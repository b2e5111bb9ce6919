import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '@capstan/client';
import type { Status } from '@capstan/machinery';
import type { Upstream } from '@capstan/serving';

/** Somebody who wants a value again and again. */
export interface Reader {
  readonly seconds: number;
  /** The value as JSON. */
  sampled(value: string): void;
  failed(status: Status): void;
}

export interface SamplerOptions {
  readonly upstream: Upstream;
  /** At the server, with the query. */
  readonly path: string;
  readonly authorization: () => Promise<string>;
  readonly onOver: (status: Status) => void;
  /** Milliseconds of a second. */
  readonly second: number;
}

/** Not 404: the numbers of a program come some seconds after its start. */
const pointless = new Set([400, 401, 403, 405]);
/** In characters. */
const largest = 1 << 20;

/** Fetches a value as often as the most eager of its readers wants it, once for all of them. */
export class Sampler implements Disposable {
  readonly #options: SamplerOptions;
  readonly #readers = new Set<Reader>();
  readonly #stop = new AbortController();
  #last: string | undefined;

  constructor(options: SamplerOptions) {
    this.#options = options;
    void this.#run();
  }

  get isUnused(): boolean {
    return this.#readers.size === 0;
  }

  add(reader: Reader): void {
    this.#readers.add(reader);
    if (this.#last !== undefined) reader.sampled(this.#last);
  }

  remove(reader: Reader): void {
    this.#readers.delete(reader);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    // The first reader is added after this.
    await Promise.resolve();
    while (!signal.aborted) {
      await this.#sample();
      const seconds = Math.min(...[...this.#readers].map((reader) => reader.seconds), 3_600);
      await sleep(seconds * this.#options.second, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  async #sample(): Promise<void> {
    const { upstream, path, authorization, onOver } = this.#options;
    try {
      const text = await upstream.text({ method: 'GET', path, authorization: await authorization(), signal: this.#stop.signal });
      if (text.length > largest) return this.#fail(tooLarge(text.length));
      this.#last = jsonOf(text);
      for (const reader of this.#readers) reader.sampled(this.#last);
    } catch (error) {
      // A server that cannot be reached now is asked again; the lists of the tab say that it is lost.
      if (this.#stop.signal.aborted || !(error instanceof ApiError)) return;
      const status = { ...error.status, code: error.code };
      this.#fail(status);
      if (!pointless.has(error.code)) return;
      this.#stop.abort();
      onOver(status);
    }
  }

  #fail(status: Status): void {
    for (const reader of this.#readers) reader.failed(status);
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
    this.#readers.clear();
  }
}

function tooLarge(length: number): Status {
  const message = `the answer has ${length} characters, and a sample can have at most ${largest}`;
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 413, reason: 'RequestEntityTooLarge', message };
}

/** An answer that is no JSON is a text. */
function jsonOf(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return JSON.stringify(text);
  }
}
