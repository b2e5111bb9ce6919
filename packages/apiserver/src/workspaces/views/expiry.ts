import { everyCluster } from '@capstan/api';
import type { GroupResource } from '@capstan/machinery';
import { fieldsOf } from '@capstan/machinery';
import { factsOf } from '../../bindings/bindings.ts';
import { apiBindings } from '../../bindings/bound-resources.ts';
import { apiExports, claimsName } from '../../bindings/names.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { WatchHub } from '../../watch/hub.ts';
import { exportScopeKey } from './apiexport.ts';
import { boundSchemasKey } from './bound-schemas.ts';

/** Many workspaces may accept claims one after the other: whoever watches begins again once for all of them. */
const gather = 300;

/** Stands for every kind that a view shows. */
const everyKind = '*';

/**
 * Ends watches through the views of exports when they show something else without any object having been written: clients begin again. Kinds that it does
 * not concern are left alone: clients wait ever longer before they begin again, and some tell workspaces that leave by the event alone.
 */
export class ViewExpiry implements Disposable {
  readonly #hub: WatchHub;
  /** The kinds that are concerned, by the view. */
  readonly #due = new Map<string, Set<string>>();
  /** The last change: whoever began later knows it. */
  #changed = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(cache: WatchCache, hub: WatchHub) {
    this.#hub = hub;
    cache.resource(apiBindings).listeners.add({
      changed: (events) => {
        this.#changed = events.at(-1)!.revision;
        for (const { type, entry, previous } of events) {
          const now = type === 'DELETED' ? '' : claimsKey(entry);
          if (now !== (previous === undefined ? '' : claimsKey(previous))) this.#claimsChanged(entry, previous);
          if ((type === 'DELETED' ? '' : boundKey(entry)) !== (previous === undefined ? '' : boundKey(previous)))
            this.#schedule(boundSchemasKey(clusterOfKey(entry.key)), everyKind);
        }
      },
    });
    cache.resource(apiExports).listeners.add({
      changed: (events) => {
        this.#changed = events.at(-1)!.revision;
        for (const { entry, previous } of events) {
          if (previous === undefined || offerKey(previous) === offerKey(entry)) continue;
          this.#schedule(exportScopeKey(clusterOfKey(entry.key), nameOf(entry)), everyKind);
          this.#schedule(boundSchemasKey(), everyKind);
        }
      },
    });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #claimsChanged(...bindings: readonly (CacheEntry | undefined)[]): void {
    for (const binding of bindings) {
      if (binding === undefined) continue;
      const { provider, exportName, claims } = factsOf(binding);
      if (provider === '') continue;
      const views = [exportScopeKey(provider, exportName), claimsName(clusterOfKey(binding.key)), claimsName(everyCluster)];
      for (const claim of claims) for (const view of views) this.#schedule(view, kindKey(claim));
    }
  }

  #schedule(view: string, kind: string): void {
    const kinds = this.#due.get(view);
    if (kinds === undefined) this.#due.set(view, new Set([kind]));
    else kinds.add(kind);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const [name, due] of this.#due) this.#hub.expire([name], (one) => due.has(everyKind) || due.has(kindKey(one)), this.#changed);
      this.#due.clear();
    }, gather);
    this.#timer.unref();
  }
}

const kindKey = ({ group, resource }: GroupResource): string => `${group}/${resource}`;

/** Claims count from when the binding knows its provider. */
function claimsKey(entry: CacheEntry): string {
  const { provider, claimsKey: key } = factsOf(entry);
  return provider === '' ? '' : key;
}

/** What of a binding says which schemas its workspace has. */
function boundKey(entry: CacheEntry): string {
  const { provider, exportName, bound } = factsOf(entry);
  return bound.length === 0 ? '' : `${provider}/${exportName}`;
}

function offerKey(entry: CacheEntry): string {
  const { permissionClaims, resources } = fieldsOf(entry.object['spec']);
  return JSON.stringify([permissionClaims, resources, fieldsOf(entry.object['status'])['identityHash']]);
}

const nameOf = ({ key }: CacheEntry): string => key.slice(key.lastIndexOf('/') + 1);
