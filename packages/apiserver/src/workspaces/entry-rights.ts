import type { User } from '@capstan/api';

/** More workspaces than one user goes in and out of at a time. */
const capacity = 4_096;

interface Answer {
  /** When what it rests on last changed. */
  readonly changed: number;
  readonly may: boolean;
}

/**
 * Remembers who may enter which workspace. An answer holds until something changes that it was worked out from, and not a moment longer: `changedIn` is asked
 * every time. Users whom authenticators keep are the same object from request to request; others are asked about anew.
 */
export class EntryRights {
  readonly #mayEnter: (user: User, cluster: string) => boolean;
  readonly #changedIn: (cluster: string) => number;
  readonly #known = new WeakMap<User, Map<string, Answer>>();

  constructor(mayEnter: (user: User, cluster: string) => boolean, changedIn: (cluster: string) => number) {
    this.#mayEnter = mayEnter;
    this.#changedIn = changedIn;
  }

  mayEnter(user: User, cluster: string): boolean {
    const changed = this.#changedIn(cluster);
    let answers = this.#known.get(user);
    const known = answers?.get(cluster);
    if (known?.changed === changed) return known.may;
    const may = this.#mayEnter(user, cluster);
    if (answers === undefined) this.#known.set(user, (answers = new Map()));
    else if (answers.size >= capacity) answers.clear();
    answers.set(cluster, { changed, may });
    return may;
  }
}
