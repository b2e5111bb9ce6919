import type { GroupResource } from '@capstan/machinery';
import type { CacheEntry } from './entry.ts';

/** Reads many objects without keeping them in parsed form. */
export interface EntryReader {
  /**
   * Visits the objects of a resource in a workspace until `visit` returns false. Unlike `get` and `list`, does not keep them in
   * parsed form.
   */
  walk(resource: GroupResource, cluster: string, visit: (entry: CacheEntry) => boolean): void;
  generation(resource: GroupResource): number;
}
