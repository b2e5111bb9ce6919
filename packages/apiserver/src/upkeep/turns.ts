import { StatusError } from '@capstan/machinery';

export interface TurnsOptions<T> {
  readonly work: (item: T) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** The delay in milliseconds before a failed item is retried. If undefined, it waits until it is requested again. */
  readonly retryAfter?: number;
}

/** Works on one item at a time. A requested item waits for its turn, and gets a single turn however often it was requested meanwhile. */
export class Turns<T> implements Disposable {
  readonly #options: TurnsOptions<T>;
  readonly #waiting = new Set<T>();
  readonly #retries = new Set<NodeJS.Timeout>();
  #running = false;
  #stopped = false;

  constructor(options: TurnsOptions<T>) {
    this.#options = options;
  }

  /** Starts nothing from here on. Work in progress runs to its end; its failure is not reported. */
  [Symbol.dispose](): void {
    this.#stopped = true;
    this.#waiting.clear();
    for (const retry of this.#retries) clearTimeout(retry);
  }

  ask(item: T): void {
    if (this.#stopped) return;
    this.#waiting.add(item);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    // Lets the caller respond to its client first, and handles changes of the same commit together.
    await Promise.resolve();
    for (const item of this.#waiting) {
      this.#waiting.delete(item);
      try {
        await this.#options.work(item);
      } catch (error) {
        this.#failed(item, error);
      }
    }
    this.#running = false;
  }

  #failed(item: T, error: unknown): void {
    const isGone = error instanceof StatusError && error.reason === 'NotFound';
    if (this.#stopped || isGone) return;
    const { onError, retryAfter } = this.#options;
    onError(error);
    if (retryAfter === undefined) return;
    const retry = setTimeout(() => {
      this.#retries.delete(retry);
      this.ask(item);
    }, retryAfter);
    this.#retries.add(retry.unref());
  }
}
