import type { CachedResource } from '@capstan/api';
import { type Client, Informer } from '@capstan/client';
import { type KubeObject, selectorOfObject } from '@capstan/machinery';

/** Follows the objects that a CachedResource publishes, with names and labels only, until it is disposed. */
export class Followed implements AsyncDisposable {
  /** Identifies the selection of objects. */
  readonly what: string;
  readonly #informer: Informer<KubeObject>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(object: CachedResource, options: { readonly client: Client; readonly changed: () => void }) {
    this.what = whatOf(object);
    const { group = '', version = '', resource, labelSelector } = object.spec!;
    this.#informer = new Informer({
      resource: options.client.resource({ group, version, resource, namespaced: false }).metadata(),
      labelSelector: labelSelector === undefined ? undefined : selectorOfObject(labelSelector).toString(),
    });
    this.#informer.onChange(options.changed);
    this.#running = this.#informer.start(this.#stop.signal);
    // A CachedResource without objects has a number to report too.
    this.#informer.synced(this.#stop.signal).then(options.changed, () => {});
  }

  /** Undefined until all objects are known. */
  get count(): number | undefined {
    return this.#informer.hasSynced ? this.#informer.size : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

export function whatOf({ spec }: CachedResource): string {
  const { group, version, resource, labelSelector } = spec!;
  return JSON.stringify([group, version, resource, labelSelector]);
}
