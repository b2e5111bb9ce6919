import type { Catalog, CustomKinds } from './catalog.ts';

/** The catalogs of all workspaces. One that has no kinds of its own shares the built-in one. */
export class Catalogs {
  readonly builtin: Catalog;
  readonly #custom: (cluster: string) => CustomKinds | undefined;
  readonly #own = new WeakMap<CustomKinds, Catalog>();

  constructor(builtin: Catalog, custom: (cluster: string) => CustomKinds | undefined) {
    this.builtin = builtin;
    this.#custom = custom;
  }

  of(cluster: string): Catalog {
    const custom = this.#custom(cluster);
    if (custom === undefined) return this.builtin;
    let catalog = this.#own.get(custom);
    if (catalog === undefined) this.#own.set(custom, (catalog = this.builtin.with(custom)));
    return catalog;
  }
}
