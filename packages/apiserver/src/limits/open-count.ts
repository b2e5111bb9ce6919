import type { User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import { status } from '@capstan/machinery';
import { allowedInLine } from './scarce.ts';

export interface OpenCountOptions {
  /** The plural of the counted things, for messages: `watches`. */
  readonly what: string;
  readonly overall: number;
  readonly perLine: number;
}

/** Limits long-lived things such as watches and connections, per line and in total. Only the total applies to system:masters. */
export class OpenCount {
  readonly #options: OpenCountOptions;
  readonly #byLine = new Map<string, number>();
  #total = 0;

  constructor(options: OpenCountOptions) {
    this.#options = options;
  }

  get total(): number {
    return this.#total;
  }

  /** Counts one more in the line, or throws TooManyRequests. Every successful `open` needs a `close`. */
  open(line: string, user: User): void {
    const { what, overall, perLine } = this.#options;
    const count = this.#byLine.get(line) ?? 0;
    if (this.#total >= overall)
      throw status.tooManyRequests(`the server has ${overall} ${what} open, which is its limit; try again later`, 1);
    const allowed = allowedInLine({ taken: this.#total, all: overall, most: perLine });
    if (count >= allowed && !user.groups.includes(superuserGroup)) {
      throw status.tooManyRequests(
        `you have ${count} ${what} open, and ${allowed} is the limit for one user or workspace; close some of them`,
        1,
      );
    }
    this.#byLine.set(line, count + 1);
    this.#total++;
  }

  close(line: string): void {
    const count = this.#byLine.get(line);
    if (count === undefined) return;
    if (count === 1) this.#byLine.delete(line);
    else this.#byLine.set(line, count - 1);
    this.#total--;
  }
}
