import type { Received } from './transport.ts';

export async function readText(answer: Received, idle: number): Promise<string> {
  let text = '';
  await answer.read(idle, (piece) => {
    text += piece;
  });
  return text;
}

/** Splits chunks of text into lines. An incomplete line waits for the rest. */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  /** Joined only when the line is complete: a long line may arrive in many chunks. */
  #begun: string[] = [];

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(text: string): void {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      let line = text.slice(start, end);
      if (this.#begun.length > 0) {
        this.#begun.push(line);
        line = this.#begun.join('');
        this.#begun = [];
      }
      if (line !== '') this.#onLine(line);
      start = end + 1;
    }
    if (start < text.length) this.#begun.push(text.slice(start));
  }
}
