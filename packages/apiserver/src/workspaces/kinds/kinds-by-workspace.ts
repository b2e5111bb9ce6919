import type { ClusterId } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';
import type { CustomKinds } from '../../registry/catalog.ts';
import { CompositeKinds } from './composite.ts';

/** A source of kinds per workspace. Returns the same object until something changes. */
export interface KindSource {
  in(cluster: ClusterId): CustomKinds | undefined;
}

/** How many workspaces with kinds of their own are cached. Others are combined again on each request. */
const capacity = 4_000;

/**
 * The kinds that each workspace has besides the built-in ones: system kinds, bound kinds and custom resources, in this order. Workspaces
 * with the same bound kinds and no custom resources share one object, and everything derived from it.
 */
export class KindsByWorkspace {
  readonly #system: CustomKinds;
  readonly #bound: KindSource;
  readonly #defined: KindSource;
  readonly #withBound = new WeakMap<CustomKinds, CustomKinds>();
  readonly #own = new BoundedMap<string, { bound: CustomKinds | undefined; defined: CustomKinds; kinds: CustomKinds }>(capacity);

  constructor(parts: { system: CustomKinds; bound: KindSource; defined: KindSource }) {
    this.#system = parts.system;
    this.#bound = parts.bound;
    this.#defined = parts.defined;
  }

  in(cluster: ClusterId): CustomKinds {
    const bound = this.#bound.in(cluster);
    const defined = this.#defined.in(cluster);
    if (defined !== undefined) return this.#ownOf(cluster, bound, defined);
    if (bound === undefined) return this.#system;
    let kinds = this.#withBound.get(bound);
    if (kinds === undefined) this.#withBound.set(bound, (kinds = new CompositeKinds([this.#system, bound])));
    return kinds;
  }

  #ownOf(cluster: ClusterId, bound: CustomKinds | undefined, defined: CustomKinds): CustomKinds {
    const known = this.#own.get(cluster);
    if (known !== undefined && known.bound === bound && known.defined === defined) return known.kinds;
    const kinds = new CompositeKinds(bound === undefined ? [this.#system, defined] : [this.#system, bound, defined]);
    this.#own.set(cluster, { bound, defined, kinds });
    return kinds;
  }
}
