import type { CustomKinds } from '../../registry/catalog.ts';
import { CompositeKinds } from './composite.ts';

/** A source of kinds that differ from workspace to workspace. The same object is answered until something changes. */
export interface KindSource {
  in(cluster: string): CustomKinds | undefined;
}

/** How many workspaces with kinds of their own are remembered. Others are put together again when somebody asks. */
const capacity = 4_000;

/**
 * The kinds that each workspace has beside the built-in ones: those of the system, those that are bound, and those that its users defined, in this order. Workspaces
 * with the same bound kinds and no others share one object, and so everything that is made from it.
 */
export class KindsByWorkspace {
  readonly #system: CustomKinds;
  readonly #bound: KindSource;
  readonly #defined: KindSource;
  readonly #withBound = new WeakMap<CustomKinds, CustomKinds>();
  readonly #own = new Map<string, { bound: CustomKinds | undefined; defined: CustomKinds; kinds: CustomKinds }>();

  constructor(parts: { system: CustomKinds; bound: KindSource; defined: KindSource }) {
    this.#system = parts.system;
    this.#bound = parts.bound;
    this.#defined = parts.defined;
  }

  in(cluster: string): CustomKinds {
    const bound = this.#bound.in(cluster);
    const defined = this.#defined.in(cluster);
    if (defined !== undefined) return this.#ownOf(cluster, bound, defined);
    if (bound === undefined) return this.#system;
    let kinds = this.#withBound.get(bound);
    if (kinds === undefined) this.#withBound.set(bound, (kinds = new CompositeKinds([this.#system, bound])));
    return kinds;
  }

  #ownOf(cluster: string, bound: CustomKinds | undefined, defined: CustomKinds): CustomKinds {
    const known = this.#own.get(cluster);
    if (known !== undefined && known.bound === bound && known.defined === defined) return known.kinds;
    const kinds = new CompositeKinds(bound === undefined ? [this.#system, defined] : [this.#system, bound, defined]);
    if (this.#own.size >= capacity) this.#own.clear();
    this.#own.set(cluster, { bound, defined, kinds });
    return kinds;
  }
}
