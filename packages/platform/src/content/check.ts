import type { Product } from '../product.ts';

const namePattern = /^[a-z]([-a-z0-9]{0,40}[a-z0-9])?$/;

/** Throws if products contradict themselves or each other. These are mistakes in the program, so no server is asked. */
export function checkProducts(products: readonly Product[]): void {
  const names = new Set<string>();
  const owners = new Map<string, string>();
  for (const { name, kinds, catalogs = [] } of products) {
    if (!namePattern.test(name)) throw new Error(`expected a product's name to match ${namePattern.source}, found "${name}"`);
    if (names.has(name)) throw new Error(`two products are named ${name}; rename one of them`);
    names.add(name);
    for (const { group, resource } of kinds) {
      const kind = `${resource}.${group}`;
      const owner = owners.get(kind);
      if (owner !== undefined) throw new Error(`${kind} is a kind of the products ${owner} and ${name}; remove it from one of them`);
      owners.set(kind, name);
    }
    for (const catalog of catalogs) {
      const kind = `${catalog.resource}.${catalog.group}`;
      if (!kinds.includes(catalog))
        throw new Error(`the catalog ${kind} is not among the kinds of the product ${name}; add it to \`kinds\``);
      if (catalog.namespaced) throw new Error(`the catalog ${kind} of the product ${name} is namespaced; catalogs are cluster-scoped`);
    }
  }
}
