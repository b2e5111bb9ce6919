import { formatKey, type Informer, keyText, type ObjectKey } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { revisionOf } from './own-writes.ts';

/** A write of an object that is not the reconciled one. */
interface Write {
  readonly informer: Informer;
  readonly object: string;
  readonly revision: number;
  /** In milliseconds. */
  readonly at: number;
}

interface Waiting {
  readonly key: ObjectKey;
  readonly writes: Map<string, Write>;
  /** The object was due while a copy was behind. */
  isDue: boolean;
}

/** In milliseconds: a copy that has not received a write by then may not select the object at all. */
export const arrivesWithin = 5_000;

/**
 * Remembers what a reconciler wrote of other kinds until the local copies have it, so that it does not create an object a second time because its copy
 * does not have the first one yet. Holds only what is still on its way.
 */
export class OtherWrites implements Disposable {
  readonly #waiting = new Map<string, Waiting>();
  /** Who waits for which object: a change must not be compared with everything that waits. */
  readonly #followed = new Map<Informer, { readonly following: Disposable; readonly objects: Map<string, Set<Waiting>> }>();
  readonly #onArrived: (key: ObjectKey) => void;
  readonly #now: () => number;

  /** `onArrived` is called with the key of an object that became due while it waited. */
  constructor(onArrived: (key: ObjectKey) => void, now: () => number = () => performance.now()) {
    this.#onArrived = onArrived;
    this.#now = now;
  }

  /** Notes that the reconcile of `key` wrote an object of which `informer` is the copy. */
  note(key: ObjectKey, written: KubeObject, informer: Informer): void {
    const write = { informer, object: informer.textOf(written), revision: revisionOf(written), at: this.#now() };
    // A write that removed the last finalizer never arrives as an update.
    if (written.metadata.deletionTimestamp !== undefined || !this.#isMissing(write)) return;
    const text = formatKey(key);
    const waiting = this.#waiting.get(text) ?? { key, writes: new Map<string, Write>(), isDue: false };
    this.#waiting.set(text, waiting);
    waiting.writes.set(`${informer.resource.group}/${informer.resource.resource} ${write.object}`, write);
    const objects = this.#follow(informer);
    const interested = objects.get(write.object) ?? new Set();
    objects.set(write.object, interested.add(waiting));
  }

  /** Whether a copy lacks one of the object's writes. If so, `onArrived` will be called. */
  isBehind(key: ObjectKey): boolean {
    const waiting = this.#waiting.get(formatKey(key));
    if (waiting === undefined) return false;
    this.#settle(waiting);
    if (waiting.writes.size === 0) return false;
    waiting.isDue = true;
    return true;
  }

  [Symbol.dispose](): void {
    for (const { following } of this.#followed.values()) following[Symbol.dispose]();
  }

  #follow(informer: Informer): Map<string, Set<Waiting>> {
    const known = this.#followed.get(informer);
    if (known !== undefined) return known.objects;
    const objects = new Map<string, Set<Waiting>>();
    this.#followed.set(informer, { objects, following: informer.onChange(({ object }) => this.#arrives(informer, keyText(object))) });
    return objects;
  }

  #arrives(informer: Informer, object: string): void {
    for (const waiting of [...(this.#followed.get(informer)?.objects.get(object) ?? [])]) {
      this.#settle(waiting, { informer, object });
      if (waiting.writes.size === 0 && waiting.isDue) this.#onArrived(waiting.key);
    }
  }

  /** Forgets the writes that have arrived. A change of the object itself, even its deletion, is at least as new as the copy says. */
  #settle(waiting: Waiting, changed?: { readonly informer: Informer; readonly object: string }): void {
    for (const [id, write] of waiting.writes) {
      const isGone =
        changed !== undefined &&
        changed.informer === write.informer &&
        changed.object === write.object &&
        this.#copyOf(write) === undefined;
      if (isGone || !this.#isMissing(write)) {
        waiting.writes.delete(id);
        this.#forget(waiting, write);
      }
    }
    if (waiting.writes.size === 0) this.#waiting.delete(formatKey(waiting.key));
  }

  #forget(waiting: Waiting, { informer, object }: Write): void {
    const objects = this.#followed.get(informer)?.objects;
    const interested = objects?.get(object);
    interested?.delete(waiting);
    if (interested?.size === 0) objects?.delete(object);
  }

  #copyOf({ informer, object }: Write): KubeObject | undefined {
    return informer.getByText(object);
  }

  /** False for versions that are not numbers. */
  #isMissing(write: Write): boolean {
    const { informer, revision, at } = write;
    if (this.#now() - at > arrivesWithin || Number.isNaN(revision) || Number(informer.revision) >= revision) return false;
    const copy = this.#copyOf(write);
    return copy === undefined || revisionOf(copy) < revision;
  }
}
