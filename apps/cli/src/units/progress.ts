/** Says on stderr what happens: one line that changes on a terminal, one line for each change elsewhere. */
export class Progress {
  readonly #output: NodeJS.WriteStream;
  readonly #isQuiet: boolean;
  #shown = '';
  #isOpen = false;

  constructor({ output = process.stderr, isQuiet = false }: { readonly output?: NodeJS.WriteStream; readonly isQuiet?: boolean } = {}) {
    this.#output = output;
    this.#isQuiet = isQuiet;
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
      this.#output.write(`${text}\n`);
    }
  }

  /** Removes the line, before something else is printed. */
  clear(): void {
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
