import type { WatchCache } from '../../cache/watch-cache.ts';
import { endOf } from '../../cache/watch-cache.ts';
import { type BindingFacts, factsOf } from '../apis/bindings.ts';
import { apiBindings } from '../kinds/bound-resources.ts';
import { clusterOfKey } from '../names.ts';
import { keyOf, type Offer } from './chain.ts';

/** How many lists of consumers are remembered. */
const capacity = 1_000;

/** The workspaces that bound something with virtual storage. */
export class Consumers {
  readonly #cache: WatchCache;
  readonly #known = new Map<string, { readonly generation: number; readonly clusters: readonly string[] }>();

  constructor(cache: WatchCache) {
    this.#cache = cache;
  }

  isOne(cluster: string, offer: Offer): boolean {
    let found = false;
    this.#cache.walk(apiBindings, cluster, (entry) => !(found = isOf(factsOf(entry), offer)));
    return found;
  }

  /** All that bound one of the offers. */
  of(offers: readonly Offer[]): readonly string[] {
    const generation = this.#cache.generation(apiBindings);
    const key = keyOf(offers);
    const known = this.#known.get(key);
    if (known?.generation === generation) return known.clusters;
    const clusters = new Set<string>();
    this.#cache.resource(apiBindings).entries.walk('', endOf(''), (entry) => {
      if (offers.some((offer) => isOf(factsOf(entry), offer))) clusters.add(clusterOfKey(entry.key));
      return true;
    });
    if (this.#known.size >= capacity) this.#known.clear();
    const made = { generation, clusters: [...clusters] };
    this.#known.set(key, made);
    return made.clusters;
  }
}

function isOf({ provider, exportName, bound }: BindingFacts, offer: Offer): boolean {
  if (provider !== offer.provider || exportName !== offer.exportName) return false;
  return bound.some(
    ({ group, resource, identity, isVirtual }) =>
      isVirtual === true && group === offer.group && resource === offer.resource && identity === offer.identity,
  );
}
