import { ApiError, Client, type Connection, dropManagedFields, keyText, Reflector, type Transport } from '@capstan/client';
import type { KubeObject, Status } from '@capstan/machinery';
import { parseCollection } from './collection.ts';
import type { Selection } from './messages.ts';

/** Somebody who follows a list. */
export interface Follower {
  /** The whole list is there, or there anew. */
  listed(): void;
  /** The change as JSON. */
  changed(change: string): void;
  failed(status: Status): void;
}

export interface FollowOptions {
  /** With the user's token. */
  readonly transport: Transport;
  readonly connection: Connection;
  /** The server cannot be reached, or can again. */
  readonly onUpstream: (state: 'lost' | 'restored') => void;
  /** Nothing more comes: the server says that asking again is pointless. */
  readonly onOver: (status: Status) => void;
  /** In milliseconds: the longest wait before another attempt. */
  readonly longestWait: number;
}

/** Answers after which another attempt would get the same. Not 404: the kinds of products come some seconds after the first start. */
const pointless = new Set([400, 401, 403, 405, 406, 422]);

/** One list that is kept up to date for all who follow it. Objects are kept as JSON, which takes a fraction of the memory. */
export class Follow implements Disposable {
  readonly #options: FollowOptions;
  readonly #followers = new Set<Follower>();
  readonly #stop = new AbortController();
  readonly #texts = new Map<string, string>();
  readonly #reflector: Reflector<KubeObject>;
  #isComplete = false;
  #failing: Status | undefined;

  constructor(selection: Selection, options: FollowOptions) {
    this.#options = options;
    const collection = parseCollection(selection.path);
    if (collection === undefined) throw new TypeError('expected the path of a list, such as /clusters/root:main:web/api/v1/pods');
    const { prefix, type, namespace } = collection;
    const client = new Client(options.connection, { transport: options.transport, retry: { attempts: 1 } });
    this.#reflector = new Reflector({
      resource: client.under(prefix).resource(type).in(namespace),
      labelSelector: selection.labels,
      fieldSelector: selection.fields,
      transform: dropManagedFields,
      longestWait: options.longestWait,
      sink: {
        replace: (objects) => this.#replace(objects),
        put: (object) => this.#put(object),
        remove: (object) => this.#remove(object),
      },
      onError: (error) => this.#fail(error),
      onRecovered: () => this.#recover(),
    });
    void this.#reflector.run(this.#stop.signal);
  }

  get isUnused(): boolean {
    return this.#followers.size === 0;
  }

  /** Undefined until the list has arrived. */
  get list(): { readonly items: Iterable<string>; readonly resourceVersion: string } | undefined {
    return this.#isComplete ? { items: this.#texts.values(), resourceVersion: this.#reflector.revision ?? '' } : undefined;
  }

  add(follower: Follower): void {
    this.#followers.add(follower);
    if (this.#isComplete) follower.listed();
    if (this.#failing !== undefined) follower.failed(this.#failing);
  }

  remove(follower: Follower): void {
    this.#followers.delete(follower);
  }

  #replace(objects: ReadonlyMap<string, KubeObject>): void {
    this.#texts.clear();
    for (const [key, object] of objects) this.#texts.set(key, JSON.stringify(object));
    this.#isComplete = true;
    for (const follower of this.#followers) follower.listed();
  }

  #put(object: KubeObject): void {
    const key = keyText(object);
    const type = this.#texts.has(key) ? 'MODIFIED' : 'ADDED';
    const text = JSON.stringify(object);
    this.#texts.set(key, text);
    this.#change(type, text);
  }

  #remove(object: KubeObject): void {
    this.#texts.delete(keyText(object));
    this.#change('DELETED', JSON.stringify(dropManagedFields(object)));
  }

  #change(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: string): void {
    const change = `{"type":"${type}","object":${object}}`;
    for (const follower of this.#followers) follower.changed(change);
  }

  #fail(error: unknown): void {
    if (!(error instanceof ApiError)) {
      this.#options.onUpstream('lost');
      return;
    }
    // History that is gone only means that the list comes anew.
    if (error.code === 410 || error.reason === 'Expired') return;
    const isNew = this.#failing?.code !== error.code || this.#failing?.message !== error.status.message;
    this.#failing = { ...error.status, code: error.code };
    if (isNew) for (const follower of this.#followers) follower.failed(this.#failing);
    if (!pointless.has(error.code)) return;
    this.#stop.abort();
    this.#options.onOver(this.#failing);
  }

  #recover(): void {
    this.#failing = undefined;
    this.#options.onUpstream('restored');
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
    this.#followers.clear();
    this.#texts.clear();
  }
}
