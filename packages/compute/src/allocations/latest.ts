import type { Informer } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';

/**
 * The newest known state of some objects: the copy of an informer, or the server's answers to our own writes where the copy is behind. Without
 * the answers, a pass would decide again what the last one has just written.
 */
export class Latest<T extends KubeObject> implements Disposable {
  readonly #objects = new Map<string, T>();
  readonly #keyOf: (object: T) => string;
  readonly #onChange: (key: string, object: T | undefined) => void;
  readonly #following: Disposable;

  constructor(
    informer: Informer<T>,
    { keyOf, onChange }: { readonly keyOf: (object: T) => string; readonly onChange: (key: string, object: T | undefined) => void },
  ) {
    this.#keyOf = keyOf;
    this.#onChange = onChange;
    this.#following = informer.onChange(({ type, object }) => {
      if (type === 'deleted') this.#remove(object);
      else this.#set(object);
    });
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  entries(): IteratorObject<[string, T]> {
    return this.#objects.entries();
  }

  values(): IteratorObject<T> {
    return this.#objects.values();
  }

  /** Takes the server's answer to a write. An object whose last finalizer was removed is gone. */
  wrote(object: T): void {
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.#remove(object);
    else this.#set(object);
  }

  /** Forgets an object that the server does not have. */
  forget(key: string): void {
    if (this.#objects.delete(key)) this.#onChange(key, undefined);
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
  }

  #set(object: T): void {
    const key = this.#keyOf(object);
    const known = this.#objects.get(key);
    if (known !== undefined && known.metadata.uid === object.metadata.uid && revisionOf(known) >= revisionOf(object)) return;
    this.#objects.set(key, object);
    this.#onChange(key, object);
  }

  #remove(object: T): void {
    const key = this.#keyOf(object);
    const known = this.#objects.get(key);
    if (known?.metadata.uid === object.metadata.uid) this.forget(key);
  }
}

/** NaN, which is neither smaller nor larger than any number, for servers whose versions are not numbers. */
function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion);
}
