import type { ClusterId, User } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';

/** More workspaces than one user is active in at a time. */
const capacity = 4_096;

interface Answer {
  /** The version of the rights that the answer is based on. */
  readonly changed: number;
  readonly may: boolean;
}

/**
 * Caches who may enter which workspace. An answer is valid only while its inputs are unchanged: `changedIn` is called every time. Users
 * that authenticators cache are the same object from request to request; answers for others are not reused.
 */
export class EntryRights {
  readonly #mayEnter: (user: User, cluster: ClusterId) => boolean;
  readonly #changedIn: (cluster: ClusterId) => number;
  readonly #known = new WeakMap<User, Map<string, Answer>>();

  constructor(mayEnter: (user: User, cluster: ClusterId) => boolean, changedIn: (cluster: ClusterId) => number) {
    this.#mayEnter = mayEnter;
    this.#changedIn = changedIn;
  }

  mayEnter(user: User, cluster: ClusterId): boolean {
    const changed = this.#changedIn(cluster);
    let answers = this.#known.get(user);
    const known = answers?.get(cluster);
    if (known?.changed === changed) return known.may;
    const may = this.#mayEnter(user, cluster);
    if (answers === undefined) this.#known.set(user, (answers = new BoundedMap(capacity)));
    answers.set(cluster, { changed, may });
    return may;
  }
}
