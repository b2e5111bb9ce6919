/** Limits how many tasks run at once, and lets those that exclude each other run one after the other. */
export class Places {
  readonly #waiting: (() => boolean)[] = [];
  readonly #exclusive = new Set<string>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Waits for a place, and for the end of tasks with the same word. Rejects if the signal aborts first. */
  async take(exclusive: string | undefined, signal: AbortSignal): Promise<Disposable> {
    const take = (): boolean => {
      if (this.#free === 0 || (exclusive !== undefined && this.#exclusive.has(exclusive))) return false;
      this.#free--;
      if (exclusive !== undefined) this.#exclusive.add(exclusive);
      return true;
    };
    if (!take()) await this.#turn(take, signal);
    return {
      [Symbol.dispose]: () => {
        this.#free++;
        if (exclusive !== undefined) this.#exclusive.delete(exclusive);
        for (let index = 0; index < this.#waiting.length; ) {
          if (this.#waiting[index]!()) this.#waiting.splice(index, 1);
          else index++;
        }
      },
    };
  }

  #turn(take: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const attempt = (): boolean => {
        if (signal.aborted || !take()) return signal.aborted;
        signal.removeEventListener('abort', giveUp);
        resolve();
        return true;
      };
      const giveUp = (): void => reject(signal.reason);
      if (signal.aborted) return giveUp();
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(attempt);
    });
  }
}
