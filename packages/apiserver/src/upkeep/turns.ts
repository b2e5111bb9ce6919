import { StatusError } from '@capstan/machinery';

export interface TurnsOptions<T> {
  readonly work: (item: T) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** In milliseconds: what failed has another turn after this. When absent it waits until somebody asks again. */
  readonly retryAfter?: number;
}

/** Work on one thing at a time: what is asked for waits for its turn, and has one turn however often it was asked for meanwhile. */
export class Turns<T> implements Disposable {
  readonly #options: TurnsOptions<T>;
  readonly #waiting = new Set<T>();
  readonly #retries = new Set<NodeJS.Timeout>();
  #running = false;
  #stopped = false;

  constructor(options: TurnsOptions<T>) {
    this.#options = options;
  }

  /** Nothing begins after this. What is at work ends on its own, and its failure is nobody's concern. */
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
    // Whoever made the change is answered first, and what changed in the same commit is looked at together.
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
