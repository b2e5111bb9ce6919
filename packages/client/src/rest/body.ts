import type { IncomingMessage } from 'node:http';
import { ConnectionError } from './error.ts';

/** Calls `onText` with each chunk of the body as it arrives. Fails if the body is silent for `idle` milliseconds, or is truncated. */
export function readPieces(answer: IncomingMessage, idle: number, onText: (text: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      answer.destroy(new ConnectionError('idle-timeout', `the response was silent for ${idle} ms`));
    }, idle);
    answer.setEncoding('utf8');
    answer.on('data', (text: string) => {
      timer.refresh();
      onText(text);
    });
    answer.on('end', () => {
      clearTimeout(timer);
      resolve();
    });
    answer.on('error', (error) => {
      clearTimeout(timer);
      const known = error instanceof ConnectionError || error.name === 'AbortError';
      reject(known ? error : new ConnectionError('failed', `the response was interrupted: ${error.message}`, error));
    });
    answer.on('close', () => {
      clearTimeout(timer);
      if (!answer.readableEnded) reject(new ConnectionError('failed', 'the response was interrupted'));
    });
  });
}

export async function readText(answer: IncomingMessage, idle: number): Promise<string> {
  let text = '';
  await readPieces(answer, idle, (piece) => {
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
