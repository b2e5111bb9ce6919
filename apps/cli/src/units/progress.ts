export interface ProgressOptions {
  readonly output?: NodeJS.WriteStream;
  /** Whether only lines that stay are printed. */
  readonly isQuiet?: boolean;
  readonly patience?: number;
}

/** Elsewhere than on a terminal, only states that last so long are told, in milliseconds. */
const worthTelling = 1_000;

/** Says on stderr what happens: in one line that changes on a terminal, and in one line for each lasting state elsewhere. */
export class Progress {
  readonly #output: NodeJS.WriteStream;
  readonly #isQuiet: boolean;
  #shown = '';
  #isOpen = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #patience: number;

  constructor({ output = process.stderr, isQuiet = false, patience = worthTelling }: ProgressOptions = {}) {
    this.#output = output;
    this.#isQuiet = isQuiet;
    this.#patience = patience;
  }

  /** Replaces the line. `isFleeting`: only for terminals, such as a percentage. */
  show(text: string, { isFleeting = false } = {}): void {
    if (text === this.#shown || this.#isQuiet) return;
    if (this.#output.isTTY === true) {
      this.#shown = text;
      this.#output.write(`\r\u001b[K${text.slice(0, Math.max(20, (this.#output.columns ?? 80) - 1))}`);
      this.#isOpen = true;
    } else if (!isFleeting) {
      this.#shown = text;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#output.write(`${text}\n`), this.#patience).unref();
    }
  }

  /** Removes the line, before something else is printed. */
  clear(): void {
    clearTimeout(this.#timer);
    if (this.#isOpen) this.#output.write('\r\u001b[K');
    this.#isOpen = false;
    this.#shown = '';
  }

  /** A line that stays. */
  say(text: string): void {
    this.clear();
    this.#output.write(`${text}\n`);
  }
}
