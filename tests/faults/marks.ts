import { existsSync, rmSync } from 'node:fs';
import type { Host } from '@capstan/testbed';

/** Files by which tests and the programs of steps talk to each other, and a record in which these programs write lines. */
export class Marks {
  readonly #host: Host;
  readonly #folder: string;

  constructor(host: Host, folder: string) {
    this.#host = host;
    this.#folder = folder;
  }

  set(mark: string): void {
    this.#host.write(`${this.#folder}/${mark}`, '');
  }

  unset(mark: string): void {
    rmSync(this.#host.path(`${this.#folder}/${mark}`), { force: true });
  }

  has(mark: string): boolean {
    return existsSync(this.#host.path(`${this.#folder}/${mark}`));
  }

  /** How many times a line was written down. */
  count(line: string): number {
    return this.#host
      .read(`${this.#folder}/record`)
      .split('\n')
      .filter((one) => one === line).length;
  }
}
