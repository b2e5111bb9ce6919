import type { ClusterId } from '@capstan/api';
import type { Catalog, CustomKinds } from './catalog.ts';
import type { RequestInfo } from './scope.ts';

/** The catalogs of all workspaces. Workspaces with the same kinds share one. */
export class Catalogs {
  /** All built-in kinds. */
  readonly builtin: Catalog;
  readonly #builtinIn: (cluster: ClusterId) => Catalog;
  readonly #custom: (cluster: ClusterId) => CustomKinds | undefined;
  readonly #made = new WeakMap<Catalog, WeakMap<CustomKinds, Catalog>>();

  constructor(options: {
    readonly builtin: Catalog;
    readonly builtinIn: (cluster: ClusterId) => Catalog;
    readonly customIn: (cluster: ClusterId) => CustomKinds | undefined;
  }) {
    this.builtin = options.builtin;
    this.#builtinIn = options.builtinIn;
    this.#custom = options.customIn;
  }

  of(cluster: ClusterId): Catalog {
    const builtin = this.#builtinIn(cluster);
    const custom = this.#custom(cluster);
    if (custom === undefined) return builtin;
    let made = this.#made.get(builtin);
    if (made === undefined) this.#made.set(builtin, (made = new WeakMap()));
    let catalog = made.get(custom);
    if (catalog === undefined) made.set(custom, (catalog = builtin.with(custom)));
    return catalog;
  }
}

/** The kinds that a request can access. */
export function catalogFor({ catalogs }: { readonly catalogs: Catalogs }, { scope, cluster }: RequestInfo): Catalog {
  return scope === undefined ? catalogs.of(cluster) : scope.catalog;
}
