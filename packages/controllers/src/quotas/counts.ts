import { type Client, isNotFound, type Resource } from '@capstan/client';
import { type KubeObject, measureOf, printSource, quotaSource } from '@capstan/machinery';
import { followJournal, type JournalEntry } from '../journal/follow.ts';
import { type Place, rootCluster } from './place.ts';
import type { ServedTypes } from './served-types.ts';
import type { UsageChange } from './usage-change.ts';

export interface CountsOptions {
  readonly client: Client;
  readonly types: ServedTypes;
  readonly onChange: (source: string, place: Place, change: UsageChange) => void;
  /** What a workspace serves may have changed. */
  readonly onTypes: (cluster: string) => void;
  /** Changes may have been missed, of anything. */
  readonly onGap: () => void;
  readonly onError: (error: unknown, what: string) => void;
}

const typeSources = new Set(['customresourcedefinitions', 'apibindings']);
const nothing = { apiVersion: '', kind: '', metadata: {} };

/**
 * Objects of which only the number matters. The journal tells which numbers have changed; the server, which has them sorted, is asked for those. Nothing is kept
 * here, however many objects, kinds and workspaces there are.
 */
export class Counts implements AsyncDisposable {
  readonly #options: CountsOptions;
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #reading: Promise<void> | undefined;
  #isSynced = false;

  constructor(options: CountsOptions) {
    this.#options = options;
  }

  /** How many there are; undefined when there can be none, because nobody knows the kind. */
  async of(source: string, place: Place, signal: AbortSignal): Promise<number | undefined> {
    const found = await this.#in(source, place, signal);
    if (found === undefined) return undefined;
    const page = await unlessUnknown(found.metadata().list({ limit: 1, signal }));
    return page && page.items.length + (page.metadata.remainingItemCount ?? 0);
  }

  /** The objects themselves, where their number does not tell what they use. */
  async all(source: string, place: Place, signal: AbortSignal): Promise<readonly KubeObject[] | undefined> {
    const found = await this.#in(source, place, signal);
    return found && (await unlessUnknown(found.list({ signal })))?.items;
  }

  async #in(source: string, { cluster, namespace }: Place, signal: AbortSignal): Promise<Resource<KubeObject> | undefined> {
    // Changes must be told from before the first count on.
    await this.#begin(signal);
    const { client, types } = this.#options;
    const type = await types.find(cluster, source, signal);
    // What lives in no namespace is limited for whole workspaces alone.
    if (type === undefined || (!type.namespaced && namespace !== '')) return undefined;
    return client.cluster(cluster).resource(type).in(namespace);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#reading;
  }

  async #begin(signal: AbortSignal): Promise<void> {
    this.#reading ??= this.#follow();
    if (this.#isSynced) return;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    await Promise.race([this.#synced.promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
  }

  #follow(): Promise<void> {
    const { client, onGap, onError } = this.#options;
    let isTold = false;
    return followJournal(
      // It is one for all workspaces.
      client.cluster(rootCluster),
      {
        begins: () => {
          isTold = false;
        },
        entry: (entry) => {
          if (isTold) this.#note(entry);
        },
        synced: () => {
          isTold = true;
          if (this.#isSynced) onGap();
          this.#isSynced = true;
          this.#synced.resolve();
        },
        failed: (error) => onError(error, 'journal'),
      },
      this.#stop.signal,
    );
  }

  #note({ type, cluster, resource, apiVersion, metadata }: JournalEntry): void {
    const { onChange, onTypes, types } = this.#options;
    if (typeSources.has(resource)) {
      types.forget(cluster);
      onTypes(cluster);
    }
    if (type === 'MODIFIED' && cluster === rootCluster) return;
    const slash = apiVersion.indexOf('/');
    const source = printSource({ group: slash < 0 ? '' : apiVersion.slice(0, slash), resource });
    const measure = measureOf(quotaSource(`count/${source}`)!);
    // Those of the root workspace are followed by copies.
    if (measure.looksInside ? cluster === rootCluster : type === 'MODIFIED') return;
    const place = { cluster, namespace: metadata.namespace ?? '' };
    // Of what is looked into, only the number is told.
    const isCounted = type === 'ADDED' && !measure.looksInside;
    onChange(source, place, isCounted ? { type: 'new', object: nothing, measure } : { type: 'other' });
  }
}

async function unlessUnknown<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
