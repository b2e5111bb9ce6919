import type { KubeObject } from '@capstan/machinery';
import { keyText } from './key.ts';

/** The values under which an index finds an object. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** A change of the cache, for its followers. */
export type Change<T> =
  /** `initial`: it existed when the follower began, rather than being created now. */
  | { readonly type: 'added'; readonly object: T; readonly initial: boolean }
  | { readonly type: 'updated'; readonly object: T; readonly old: T }
  /** `assumed`: the deletion was not observed; the object was missing after a relist, and this is its last known state. */
  | { readonly type: 'deleted'; readonly object: T; readonly assumed: boolean };

const nothing: ReadonlySet<never> = new Set();

/** Objects by key, each stored once, with indexes over them. Objects are shared by all readers and must not be changed. */
export class ObjectCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, { readonly valuesOf: IndexFunction<T>; readonly members: Map<string, Set<T>> }>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /** Builds the index over the existing objects. If the name is added again, the first function stays. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    if (this.#indexes.has(name)) return;
    const index = { valuesOf, members: new Map<string, Set<T>>() };
    this.#indexes.set(name, index);
    for (const object of this.#objects.values()) insert(index.members, valuesOf(object), object);
  }

  byIndex(name: string, value: string): ReadonlySet<T> {
    const index = this.#indexes.get(name);
    if (index === undefined)
      throw new Error(`there is no index "${name}"; existing indexes: ${[...this.#indexes.keys()].join(', ') || 'none'}`);
    return index.members.get(value) ?? nothing;
  }

  /** Returns the change; undefined if the object is already in the cache. */
  put(object: T): Change<T> | undefined {
    const key = keyText(object);
    const old = this.#objects.get(key);
    if (old !== undefined && isSame(old, object)) return undefined;
    this.#objects.set(key, object);
    for (const { valuesOf, members } of this.#indexes.values()) {
      if (old !== undefined) extract(members, valuesOf(old), old);
      insert(members, valuesOf(object), object);
    }
    return old === undefined ? { type: 'added', object, initial: false } : { type: 'updated', object, old };
  }

  remove(object: T, assumed = false): Change<T> | undefined {
    const key = keyText(object);
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    this.#objects.delete(key);
    for (const { valuesOf, members } of this.#indexes.values()) extract(members, valuesOf(old), old);
    return { type: 'deleted', object, assumed };
  }

  /** Replaces the whole state, and reports each difference to the old one. */
  replace(objects: ReadonlyMap<string, T>, initial: boolean, tell: (change: Change<T>) => void): void {
    for (const [key, old] of this.#objects) {
      const now = objects.get(key);
      // Another object with the same name: report the deletion of the first one.
      if (now === undefined || now.metadata.uid !== old.metadata.uid) tell(this.remove(old, true)!);
    }
    for (const object of objects.values()) {
      const change = this.put(object);
      if (change !== undefined) tell(change.type === 'added' ? { ...change, initial } : change);
    }
  }
}

function isSame(one: KubeObject, other: KubeObject): boolean {
  return one.metadata.resourceVersion === other.metadata.resourceVersion && one.metadata.uid === other.metadata.uid;
}

function insert<T>(members: Map<string, Set<T>>, values: readonly string[], object: T): void {
  for (const value of values) {
    const found = members.get(value);
    if (found === undefined) members.set(value, new Set([object]));
    else found.add(object);
  }
}

function extract<T>(members: Map<string, Set<T>>, values: readonly string[], object: T): void {
  for (const value of values) {
    const found = members.get(value);
    if (found === undefined) continue;
    found.delete(object);
    if (found.size === 0) members.delete(value);
  }
}
