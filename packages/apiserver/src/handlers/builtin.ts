import type { CacheEntry } from '../cache/entry.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestInfo } from '../registry/scope.ts';

/**
 * Objects that are there without being stored, in every workspace alike. Reads by name and lists of the newest state show them. Watches, and lists from which informers
 * begin, do not: they never change. One that is stored under the same name stands in its place.
 */
export interface BuiltinObjects {
  /** The one that a request names, unless one is stored. It has neither a uid nor a revision. */
  find(resource: Resource, info: RequestInfo): CacheEntry | undefined;
  list(resource: Resource, info: RequestInfo): readonly CacheEntry[];
}
