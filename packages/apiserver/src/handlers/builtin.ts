import type { CacheEntry } from '../cache/entry.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestInfo } from '../registry/scope.ts';

/**
 * Objects that exist in every workspace without being stored. Reads by name and lists of the newest state include them. Watches,
 * and the lists from which informers start, do not: they never change. A stored object of the same name replaces one.
 */
export interface BuiltinObjects {
  /** The built-in object that a request names, unless one is stored. It has neither a uid nor a revision. */
  find(resource: Resource, info: RequestInfo): CacheEntry | undefined;
  list(resource: Resource, info: RequestInfo): readonly CacheEntry[];
}
