import type { KubeObject, LabelSelector } from '@capstan/machinery';
import { deferred } from '../rest/deferred.ts';
import type { ResourceType } from '../rest/resource.ts';
import { type Change, type IndexFunction, ObjectCache } from './cache.ts';
import { formatKey, keyText, type ObjectKey } from './key.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

/** Called synchronously for each change, in order: it should only take note of it. */
export type ChangeHandler<T> = (change: Change<T>) => void;

export type InformerOptions<T extends KubeObject> = Omit<ReflectorOptions<T>, 'sink'>;

/** A local copy of objects that is kept current, and reports changes to its followers. */
export class Informer<T extends KubeObject = KubeObject> {
  readonly #cache = new ObjectCache<T>();
  readonly #handlers = new Set<ChangeHandler<T>>();
  readonly #reflector: Reflector<T>;
  readonly #options: InformerOptions<T>;
  readonly #synced = deferred<void>();
  #hasSynced = false;
  #running: Promise<void> | undefined;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#reflector = new Reflector<T>({
      ...options,
      sink: {
        replace: (objects) => this.#replace(objects),
        put: (object) => this.#tell(this.#cache.put(object)),
        remove: (object) => this.#tell(this.#cache.remove(object)),
      },
    });
  }

  /** The type of its objects. */
  get resource(): ResourceType {
    return this.#options.resource.type;
  }

  /** Whether the first complete state has arrived and been reported to every handler. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** The resource version up to which the copy is complete. */
  get revision(): string | undefined {
    return this.#reflector.revision;
  }

  get size(): number {
    return this.#cache.size;
  }

  /** Starts once, however often it is called; ends with the first signal. */
  start(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#reflector.run(signal);
    return this.#running;
  }

  /** Resolves after the first complete state; rejects if the signal comes first. */
  async synced(signal?: AbortSignal): Promise<void> {
    if (this.#hasSynced) return;
    if (signal === undefined) return this.#synced.promise;
    signal.throwIfAborted();
    const aborted = deferred<never>();
    const onAbort = (): void => aborted.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([this.#synced.promise, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Follows changes, beginning with all existing objects. Disposing ends it. */
  onChange(handler: ChangeHandler<T>): Disposable {
    for (const object of this.#cache.values()) this.#call(handler, { type: 'added', object, initial: true });
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  get(key: ObjectKey): T | undefined {
    return this.#cache.get(formatKey(key));
  }

  /** By a key as `formatKey` writes it. */
  getByText(key: string): T | undefined {
    return this.#cache.get(key);
  }

  /** The key of an object that the server answered with. In the copy of one workspace, keys do not name it. */
  textOf(object: KubeObject): string {
    if (this.#options.oneWorkspace !== true) return keyText(object);
    const { namespace, name = '' } = object.metadata;
    return formatKey({ namespace, name });
  }

  /** The returned objects are shared and must not be changed. */
  list(select: { readonly namespace?: string; readonly labels?: LabelSelector } = {}): T[] {
    const { namespace, labels } = select;
    const found: T[] = [];
    for (const object of this.#cache.values()) {
      if (namespace !== undefined && object.metadata.namespace !== namespace) continue;
      if (labels !== undefined && !labels.matches(object.metadata.labels)) continue;
      found.push(object);
    }
    return found;
  }

  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    this.#cache.addIndex(name, valuesOf);
  }

  /** Whether an index has any object under a value. The cost does not grow with their number. */
  hasIndexed(name: string, value: string): boolean {
    return this.#cache.byIndex(name, value).size > 0;
  }

  byIndex(name: string, value: string): T[] {
    return [...this.#cache.byIndex(name, value)];
  }

  #replace(objects: ReadonlyMap<string, T>): void {
    this.#cache.replace(objects, !this.#hasSynced, (change) => this.#tell(change));
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  #tell(change: Change<T> | undefined): void {
    if (change === undefined) return;
    for (const handler of this.#handlers) this.#call(handler, change);
  }

  /** An error in one handler must not affect the others. */
  #call(handler: ChangeHandler<T>, change: Change<T>): void {
    try {
      handler(change);
    } catch (error) {
      this.#options.onError?.(error);
    }
  }
}
