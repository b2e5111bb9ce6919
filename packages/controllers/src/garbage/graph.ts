import { awaitsDependents, awaitsOrphaning, type Item, isLeaving, isMeant, ownersOf } from './item.ts';

const none: ReadonlySet<string> = new Set();

/** The objects and their owners, by uid. Each change returns the uids of the objects to look at because of it. */
export class OwnerGraph {
  readonly #items = new Map<string, Item>();
  /** Includes the dependents of owners that were never seen. */
  readonly #dependents = new Map<string, Set<string>>();

  get size(): number {
    return this.#items.size;
  }

  uids(): Iterable<string> {
    return this.#items.keys();
  }

  get(uid: string): Item | undefined {
    return this.#items.get(uid);
  }

  dependentsOf(uid: string): Item[] {
    return [...(this.#dependents.get(uid) ?? none)].flatMap((one) => this.#items.get(one) ?? []);
  }

  put(item: Item): string[] {
    const old = this.#items.get(item.uid);
    this.#items.set(item.uid, item);
    if (old !== undefined) this.#unlink(old);
    for (const { uid } of ownersOf(item)) {
      const found = this.#dependents.get(uid);
      if (found === undefined) this.#dependents.set(uid, new Set([item.uid]));
      else found.add(item.uid);
    }
    const affected = this.#waitingOwners(item, old);
    if (this.#needsLook(item)) affected.push(item.uid);
    if (awaitsDependents(item) && (old === undefined || !awaitsDependents(old))) {
      for (const dependent of this.dependentsOf(item.uid)) affected.push(dependent.uid);
    } else if (old === undefined) affected.push(...this.#mistaken(item));
    return affected;
  }

  remove(uid: string): string[] {
    const old = this.#items.get(uid);
    if (old === undefined) return [];
    this.#items.delete(uid);
    this.#unlink(old);
    return [...(this.#dependents.get(uid) ?? none), ...this.#waitingOwners(old, undefined)];
  }

  #unlink(item: Item): void {
    for (const { uid } of ownersOf(item)) {
      const found = this.#dependents.get(uid);
      if (found?.delete(item.uid) && found.size === 0) this.#dependents.delete(uid);
    }
  }

  /** Owners that wait for their dependents to be deleted: they may have waited for this change. */
  #waitingOwners(item: Item, old: Item | undefined): string[] {
    return [...ownersOf(item), ...(old === undefined ? [] : ownersOf(old))].flatMap(({ uid }) => {
      const owner = this.#items.get(uid);
      return owner !== undefined && awaitsDependents(owner) ? [uid] : [];
    });
  }

  #needsLook(item: Item): boolean {
    if (isLeaving(item)) return awaitsDependents(item) || awaitsOrphaning(item);
    return ownersOf(item).some((reference) => {
      const owner = this.#items.get(reference.uid);
      return owner === undefined || awaitsDependents(owner) || !isMeant(reference, item, owner);
    });
  }

  /** Dependents that name this uid but refer to another object. */
  #mistaken(owner: Item): string[] {
    return this.dependentsOf(owner.uid)
      .filter((one) => ownersOf(one).some((reference) => reference.uid === owner.uid && !isMeant(reference, one, owner)))
      .map(({ uid }) => uid);
  }
}
