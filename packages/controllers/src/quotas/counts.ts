import { rootCluster } from '@capstan/api';
import { type Client, isNotFound, type Resource } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { type KubeObject, measureOf, parseApiVersion, printSource, quotaSource } from '@capstan/machinery';
import { followJournal, type JournalEntry } from '../journal/follow.ts';
import type { WorkspaceTypeCache } from '../journal/workspace-type-cache.ts';
import type { Place } from './place.ts';
import { findSource } from './served-sources.ts';
import type { UsageChange } from './usage-change.ts';

export interface CountsOptions {
  readonly client: Client;
  readonly types: WorkspaceTypeCache;
  readonly onChange: (source: string, place: Place, change: UsageChange) => void;
  /** The types that a workspace serves may have changed. */
  readonly onTypes: (cluster: string) => void;
  /** Changes of any kind may have been missed. */
  readonly onGap: () => void;
  readonly onError: (error: unknown, what: string) => void;
}

const typeSources = new Set(['customresourcedefinitions', 'apibindings']);
const nothing = { apiVersion: '', kind: '', metadata: {} };

/**
 * Objects of which only the number matters. The journal shows which numbers have changed, and the server is asked for those. Nothing is kept here, however many
 * objects, kinds and workspaces there are.
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

  /** The number of objects; undefined if the kind is not served. */
  async of(source: string, place: Place, signal: AbortSignal): Promise<number | undefined> {
    const found = await this.#in(source, place, signal);
    if (found === undefined) return undefined;
    const page = await ignoring(found.metadata().list({ limit: 1, signal }), isNotFound);
    return page && page.items.length + (page.metadata.remainingItemCount ?? 0);
  }

  /** The objects themselves, for kinds whose usage is not just their number. */
  async all(source: string, place: Place, signal: AbortSignal): Promise<readonly KubeObject[] | undefined> {
    const found = await this.#in(source, place, signal);
    return found && (await ignoring(found.list({ signal }), isNotFound))?.items;
  }

  async #in(source: string, { cluster, namespace }: Place, signal: AbortSignal): Promise<Resource<KubeObject> | undefined> {
    // The journal must be followed before the first count, so that no change is missed.
    await this.#begin(signal);
    const { client, types } = this.#options;
    const type = await findSource(types, { cluster, source, signal });
    // Cluster-scoped kinds are limited only for whole workspaces.
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
    let isSynced = false;
    return followJournal(
      // Any workspace serves the journal of all.
      client.cluster(rootCluster),
      {
        begins: () => {
          isSynced = false;
        },
        entry: (entry) => {
          if (isSynced) this.#note(entry);
        },
        synced: () => {
          isSynced = true;
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
    const source = printSource({ group: parseApiVersion(apiVersion).group, resource });
    const measure = measureOf(quotaSource(`count/${source}`)!);
    // In the root workspace, kinds whose content matters are followed by copies.
    if (measure.looksInside ? cluster === rootCluster : type === 'MODIFIED') return;
    const place = { cluster, namespace: metadata.namespace ?? '' };
    // The journal does not have the content of objects.
    const isCounted = type === 'ADDED' && !measure.looksInside;
    onChange(source, place, isCounted ? { type: 'new', object: nothing, measure } : { type: 'other' });
  }
}
