import { formatKey, type Informer, type InformerFactory, isNotFound, objectKey, parseKey } from '@capstan/client';
import { type ControllerContext, type Runnable, WorkQueue } from '@capstan/controller';
import { isTrue } from '../../kcp-conditions.ts';
import { type CachedResource, cachedResourceType } from '../kinds.ts';
import { Followed, whatOf } from './followed.ts';

/** In milliseconds: objects come and go in bursts, and one number is for all of them. */
const gather = 100;

/** Tells how many objects are published. What is in the cache is what is in the workspace: nothing is copied. */
export class CountController implements Runnable {
  readonly name = 'cachedresource-counts';

  prepare(informers: InformerFactory): void {
    informers.informer<CachedResource>(cachedResourceType);
  }

  async run(context: ControllerContext): Promise<void> {
    const { informers, signal } = context;
    const known = informers.informer<CachedResource>(cachedResourceType);
    const queue = new WorkQueue<string>({ keyOf: (key) => key, backoff: { base: 100, max: 30_000 } });
    await using counts = new Counts(context, { known, changed: (key) => queue.addAfter(key, gather) });
    await informers.synced(signal);
    using cleanup = new DisposableStack();
    cleanup.use(known.onChange(({ object }) => queue.add(formatKey(objectKey(object)))));
    const close = (): void => queue.close();
    signal.addEventListener('abort', close, { once: true });
    cleanup.defer(() => signal.removeEventListener('abort', close));
    if (signal.aborted) close();
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      if (!context.isLeading()) return;
      try {
        await counts.keep(key);
        queue.forget(key);
      } catch (error) {
        if (!context.drop.aborted) context.onError(error, parseKey(key));
        queue.addFailed(key);
      }
      queue.done(key);
    }
  }
}

interface Options {
  readonly known: Informer<CachedResource>;
  readonly changed: (key: string) => void;
}

class Counts implements AsyncDisposable {
  readonly #context: ControllerContext;
  readonly #options: Options;
  readonly #followed = new Map<string, Followed>();

  constructor(context: ControllerContext, options: Options) {
    this.#context = context;
    this.#options = options;
  }

  /** Follows what is published while it can be, and writes how many there are when it is another number. */
  async keep(key: string): Promise<void> {
    const object = this.#options.known.get(parseKey(key));
    const followed = this.#followed.get(key);
    if (object === undefined || !isTrue(object.status?.conditions, 'ResourceValid')) return this.#leave(key);
    if (followed === undefined || followed.what !== whatOf(object)) {
      await this.#leave(key);
      const { cluster = '' } = parseKey(key);
      const client = this.#context.client.cluster(cluster);
      this.#followed.set(key, new Followed(object, { client, changed: () => this.#options.changed(key) }));
      return;
    }
    const { count } = followed;
    if (count !== undefined && object.status?.resourceCounts?.cache !== count) await this.#write(key, count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#followed.keys()].map((key) => this.#leave(key)));
  }

  async #leave(key: string): Promise<void> {
    const followed = this.#followed.get(key);
    this.#followed.delete(key);
    await followed?.[Symbol.asyncDispose]();
  }

  async #write(key: string, count: number): Promise<void> {
    const { cluster = '', name } = parseKey(key);
    const patch = { status: { resourceCounts: { cache: count, local: count } } };
    try {
      await this.#context.client
        .cluster(cluster)
        .resource<CachedResource>(cachedResourceType)
        .patch(name, { type: 'merge', patch }, { subresource: 'status', signal: this.#context.drop });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
