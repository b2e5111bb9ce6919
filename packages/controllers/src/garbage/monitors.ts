import { type Change, type Client, ConnectionError, type DiscoveredResource, discover, Informer } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { slim } from './item.ts';

export interface MonitorsOptions {
  readonly client: Client;
  readonly onChange: (type: DiscoveredResource, change: Change<KubeObject>) => void;
  readonly onError: (error: unknown, type: DiscoveredResource) => void;
}

interface Monitor {
  readonly type: DiscoveredResource;
  readonly informer: Informer;
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

/** Events belong to nobody, and there are too many of them. */
const ignored = new Set(['/events', 'events.k8s.io/events']);

/** One informer, of metadata alone, for each type that can own or be owned; they come and go with the types that the server serves. */
export class Monitors implements AsyncDisposable {
  readonly #options: MonitorsOptions;
  readonly #monitors = new Map<string, Monitor>();
  #kinds = new Map<string, DiscoveredResource>();

  constructor(options: MonitorsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#monitors.size;
  }

  /** The type that a reference names; undefined when the server does not serve it. */
  typeOf(apiVersion: string, kind: string): DiscoveredResource | undefined {
    return this.#kinds.get(`${apiVersion}/${kind}`);
  }

  /** Asks what is served now, and follows that. */
  async refresh(signal: AbortSignal): Promise<void> {
    const served = await discover(this.#options.client, signal);
    this.#kinds = new Map();
    for (const one of served) {
      const name = `${one.group === '' ? '' : `${one.group}/`}${one.version}/${one.kind}`;
      if (!this.#kinds.has(name)) this.#kinds.set(name, one);
    }
    const wanted = monitored(served);
    for (const [key, monitor] of this.#monitors) if (!wanted.has(key)) this.#end(key, monitor);
    for (const [key, type] of wanted) if (!this.#monitors.has(key)) this.#begin(key, type);
  }

  /** Resolves when every copy is complete; rejects when the signal comes first. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#monitors.values()].map(({ informer }) => informer.synced(signal)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#monitors.values()];
    for (const { stop } of all) stop.abort();
    await Promise.all(all.map(({ running }) => running));
  }

  #begin(key: string, type: DiscoveredResource): void {
    const { client, onChange, onError } = this.#options;
    const stop = new AbortController();
    const informer = new Informer({
      resource: client.resource(type).metadata(),
      transform: slim,
      onError: (error) => {
        // An outage is told by those who watch a few types; here it would be told once for each.
        if (!stop.signal.aborted && !(error instanceof ConnectionError)) onError(error, type);
      },
    });
    informer.onChange((change) => onChange(type, change));
    this.#monitors.set(key, { type, informer, stop, running: informer.start(stop.signal) });
  }

  /** The type is not served any more, so none of its objects is there. */
  #end(key: string, { type, informer, stop }: Monitor): void {
    this.#monitors.delete(key);
    stop.abort();
    for (const object of informer.list()) this.#options.onChange(type, { type: 'deleted', object, assumed: true });
  }
}

/** Each type once, in the version that its group prefers. */
function monitored(served: readonly DiscoveredResource[]): Map<string, DiscoveredResource> {
  const chosen = new Map<string, DiscoveredResource>();
  const seen = new Set<string>();
  for (const one of served) {
    const name = `${one.group}/${one.resource}`;
    if (seen.has(name) || ignored.has(name) || !['delete', 'list', 'watch'].every((verb) => one.verbs.includes(verb))) continue;
    seen.add(name);
    chosen.set(`${name}@${one.version}`, one);
  }
  return chosen;
}
