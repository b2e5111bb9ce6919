import { status } from '@capstan/machinery';
import type { User } from '../authn/user.ts';
import { superuserGroup } from '../authz/authorizer.ts';

export interface OpenCountOptions {
  /** What is counted, in words: `watches`. */
  readonly what: string;
  readonly overall: number;
  readonly perUser: number;
}

/** Bounds what stays open for long, such as watches and connections: by user and over all. system:masters have only the overall bound. */
export class OpenCount {
  readonly #options: OpenCountOptions;
  readonly #byUser = new Map<string, number>();
  #total = 0;

  constructor(options: OpenCountOptions) {
    this.#options = options;
  }

  get total(): number {
    return this.#total;
  }

  /** Counts one more for the user, or throws TooManyRequests. Whoever opened must `close`. */
  open(user: User): void {
    const { what, overall, perUser } = this.#options;
    const count = this.#byUser.get(user.name) ?? 0;
    if (this.#total >= overall)
      throw status.tooManyRequests(`the server has ${overall} ${what} open, which is its limit; try again later`, 1);
    if (count >= perUser && !user.groups.includes(superuserGroup)) {
      throw status.tooManyRequests(`you have ${count} ${what} open, and ${perUser} is the limit for one user; close some of them`, 1);
    }
    this.#byUser.set(user.name, count + 1);
    this.#total++;
  }

  close(user: User): void {
    const count = this.#byUser.get(user.name);
    if (count === undefined) return;
    if (count === 1) this.#byUser.delete(user.name);
    else this.#byUser.set(user.name, count - 1);
    this.#total--;
  }
}
