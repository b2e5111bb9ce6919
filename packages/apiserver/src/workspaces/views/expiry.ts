import type { CacheEntry } from '../../cache/entry.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import { fieldsOf } from '../../kinds/workloads/reading.ts';
import type { WatchHub } from '../../watch/hub.ts';
import { factsOf } from '../apis/bindings.ts';
import { apiExports } from '../apis/names.ts';
import { apiBindings } from '../kinds/bound-resources.ts';
import { clusterOfKey } from '../names.ts';
import { exportScopeKey } from './apiexport.ts';

/** Many workspaces may accept claims one after the other: whoever watches begins again once for all of them. */
const gather = 300;

/** Ends watches through the views of exports when they show something else without any object having been written: clients begin again. */
export class ViewExpiry implements Disposable {
  readonly #hub: WatchHub;
  readonly #due = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(cache: WatchCache, hub: WatchHub) {
    this.#hub = hub;
    cache.resource(apiBindings).listeners.add({
      changed: (events) => {
        for (const { type, entry, previous } of events) {
          const now = type === 'DELETED' ? '' : claimsKey(entry);
          if (now !== (previous === undefined ? '' : claimsKey(previous))) this.#expire(type === 'DELETED' ? (previous ?? entry) : entry);
        }
      },
    });
    cache.resource(apiExports).listeners.add({
      changed: (events) => {
        for (const { entry, previous } of events)
          if (previous !== undefined && offerKey(previous) !== offerKey(entry))
            this.#schedule(exportScopeKey(clusterOfKey(entry.key), nameOf(entry)));
      },
    });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #expire(binding: CacheEntry): void {
    const { provider, exportName } = factsOf(binding);
    if (provider !== '') this.#schedule(exportScopeKey(provider, exportName));
  }

  #schedule(key: string): void {
    this.#due.add(key);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#hub.expire([...this.#due]);
      this.#due.clear();
    }, gather);
    this.#timer.unref();
  }
}

/** Claims count from when the binding knows its provider. */
function claimsKey(entry: CacheEntry): string {
  const { provider, claimsKey: key } = factsOf(entry);
  return provider === '' ? '' : key;
}

function offerKey(entry: CacheEntry): string {
  const { permissionClaims, resources } = fieldsOf(entry.object['spec']);
  return JSON.stringify([permissionClaims, resources, fieldsOf(entry.object['status'])['identityHash']]);
}

const nameOf = ({ key }: CacheEntry): string => key.slice(key.lastIndexOf('/') + 1);
