import { type ApiBinding, type ApiExport, everyCluster } from '@capstan/api';
import type { GroupResource } from '@capstan/machinery';
import { factsOf } from '../../bindings/bindings.ts';
import { apiBindings } from '../../bindings/bound-resources.ts';
import { apiExports, claimsName } from '../../bindings/names.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { WatchHub } from '../../watch/hub.ts';
import { exportScopeKey } from './apiexport.ts';
import { boundSchemasKey } from './bound-schemas.ts';

/** Many workspaces may accept claims in quick succession: watches restart once for all of them. */
const gather = 300;

/** Represents every kind of a view. */
const everyKind = '*';

/**
 * Ends watches through the views of exports when a view changes without any object being written; clients start over. Unaffected kinds are
 * left alone: clients wait longer and longer before they reconnect, and some notice removed workspaces only by events.
 */
export class ViewExpiry implements Disposable {
  readonly #hub: WatchHub;
  /** The affected kinds by view. */
  readonly #due = new Map<string, Set<string>>();
  /** The revision of the last change. Later watches already include it. */
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

  #claimsChanged(...bindings: readonly (CacheEntry<ApiBinding> | undefined)[]): void {
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

/** Claims count once the binding knows its provider. */
function claimsKey(entry: CacheEntry<ApiBinding>): string {
  const { provider, claimsKey: key } = factsOf(entry);
  return provider === '' ? '' : key;
}

/** Identifies the schemas that a binding brings into its workspace. */
function boundKey(entry: CacheEntry<ApiBinding>): string {
  const { provider, exportName, bound } = factsOf(entry);
  return bound.length === 0 ? '' : `${provider}/${exportName}`;
}

function offerKey({ object: { spec, status } }: CacheEntry<ApiExport>): string {
  return JSON.stringify([spec?.permissionClaims, spec?.resources, status?.identityHash]);
}

const nameOf = ({ key }: CacheEntry): string => key.slice(key.lastIndexOf('/') + 1);
