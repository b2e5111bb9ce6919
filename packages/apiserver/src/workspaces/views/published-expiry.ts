import type { CacheEntry } from '../../cache/entry.ts';
import type { CacheEvent } from '../../cache/event-ring.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import { fieldsOf, itemsOf } from '../../kinds/workloads/reading.ts';
import type { WatchHub } from '../../watch/hub.ts';
import { factsOf } from '../apis/bindings.ts';
import { apiExports } from '../apis/names.ts';
import { cachedResourceSlices, cachedResources } from '../caching/names.ts';
import { consumerName, consumersName, publishedName } from '../caching/virtual-kinds.ts';
import { apiBindings } from '../kinds/bound-resources.ts';
import { clusterOfKey } from '../names.ts';
import { exportScopeKey } from './apiexport.ts';

/** Many workspaces may bind one after the other: whoever watches begins again once for all of them. */
const gather = 300;

/** Ends watches of what lies with a provider when something else is published, or to others, without any object having been written: clients begin again. */
export class PublishedExpiry implements Disposable {
  readonly #hub: WatchHub;
  readonly #due = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(cache: WatchCache, hub: WatchHub) {
    this.#hub = hub;
    const follow = (resource: { group: string; resource: string }, what: (entry: CacheEntry) => string): void => {
      cache.resource(resource).listeners.add({
        changed: (events) => {
          for (const event of events) if (differs(event, what)) this.#schedule(publishedName(clusterOfKey(event.entry.key)));
        },
      });
    };
    follow(cachedResources, publication);
    follow(cachedResourceSlices, ({ object }) => JSON.stringify(object['spec']));
    follow(apiExports, virtualOffers);
    cache.resource(apiBindings).listeners.add({
      changed: (events) => {
        for (const event of events) if (differs(event, boundVirtually)) this.#consumerChanged(event);
      },
    });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #consumerChanged({ entry, previous }: CacheEvent): void {
    this.#schedule(consumerName(clusterOfKey(entry.key)));
    for (const binding of [entry, previous]) {
      const { provider, exportName } = binding === undefined ? nowhere : factsOf(binding);
      if (provider === '') continue;
      this.#schedule(consumersName(provider));
      this.#schedule(exportScopeKey(provider, exportName));
    }
  }

  #schedule(name: string): void {
    this.#due.add(name);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#hub.expire([...this.#due]);
      this.#due.clear();
    }, gather);
    this.#timer.unref();
  }
}

const nowhere = { provider: '', exportName: '' };

/** What is new or gone differs as well, unless it says nothing. */
function differs({ type, entry, previous }: CacheEvent, what: (entry: CacheEntry) => string): boolean {
  const now = type === 'DELETED' ? '' : what(entry);
  return now !== (previous === undefined ? '' : what(previous));
}

/** What a CachedResource says beside how many objects there are. */
function publication({ object }: CacheEntry): string {
  return JSON.stringify([object['spec'], fieldsOf(object['status'])['identityHash'], object.metadata.deletionTimestamp]);
}

function virtualOffers({ object }: CacheEntry): string {
  const offers = itemsOf(fieldsOf(object['spec'])['resources']).filter(({ storage }) => fieldsOf(storage)['virtual'] !== undefined);
  return offers.length === 0 ? '' : JSON.stringify([offers, fieldsOf(object['status'])['identityHash']]);
}

function boundVirtually(entry: CacheEntry): string {
  const { bound } = factsOf(entry);
  const virtual = bound.filter(({ isVirtual }) => isVirtual === true);
  return virtual.length === 0 ? '' : JSON.stringify(virtual);
}
