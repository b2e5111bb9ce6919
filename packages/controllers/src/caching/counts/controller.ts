import { type CachedResource, cachedResourceKind, isTrue } from '@capstan/api';
import { formatKey, type Informer, type InformerFactory, objectKey, parseKey } from '@capstan/client';
import { type ControllerContext, done, type Runnable, WorkLoop } from '@capstan/controller';
import { Followed, whatOf } from './followed.ts';

/** In milliseconds: objects change in bursts, and one count covers them all. */
const gather = 100;

/** Reports how many objects are published. Nothing is copied, so the number in the cache is the number in the workspace. */
export class CountController implements Runnable {
  readonly name = 'cachedresource-counts';

  prepare(informers: InformerFactory): void {
    informers.informer<CachedResource>(cachedResourceKind);
  }

  async run(context: ControllerContext): Promise<void> {
    const { informers, signal } = context;
    const known = informers.informer<CachedResource>(cachedResourceKind);
    using loop = new WorkLoop<string>(context, {
      name: this.name,
      keyOf: (key) => key,
      objectOf: parseKey,
      type: cachedResourceKind,
      backoff: { base: 100, max: 30_000 },
    });
    await using counts = new Counts(context, { known, changed: (key) => loop.queue.addAfter(key, gather) });
    await informers.synced(signal);
    using _following = known.onChange(({ object }) => loop.queue.add(formatKey(objectKey(object))));
    await loop.run(async (key) => {
      await counts.keep(key);
      return done;
    });
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

  /** Follows the published objects while they can be published, and writes their number when it has changed. */
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
    await this.#context.client
      .cluster(cluster)
      .resource<CachedResource>(cachedResourceKind)
      .patch(name, { type: 'merge', patch }, { subresource: 'status', signal: this.#context.drop });
  }
}
