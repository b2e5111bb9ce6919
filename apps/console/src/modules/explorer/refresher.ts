/** Does something a while after the first of many changes, never twice at a time, and once more if things have changed while it was done. */
export class Refresher implements Disposable {
  readonly #act: () => Promise<unknown>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isActing = false;
  /** The pause of a change that came while it was done. */
  #next: number | undefined;
  #isOver = false;

  constructor(act: () => Promise<unknown>) {
    this.#act = act;
  }

  /** There is a change. A later one does not put it off, or something that always changes would never be done. */
  changed(pause: number): void {
    if (this.#isOver || this.#timer !== undefined) return;
    if (this.#isActing) this.#next = pause;
    else this.#timer = setTimeout(() => void this.#run(), pause);
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#isActing = true;
    try {
      await this.#act();
    } finally {
      this.#isActing = false;
      const next = this.#next;
      this.#next = undefined;
      if (next !== undefined) this.changed(next);
    }
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}
