import type { GroupResource } from '@capstan/machinery';
import type { CacheEntry } from './entry.ts';

/** Reads many objects without keeping them parsed. */
export interface EntryReader {
  /** Visits what a workspace has of a resource, until `visit` answers false. Objects are not kept parsed for it, as `get` and `list` do. */
  walk(resource: GroupResource, cluster: string, visit: (entry: CacheEntry) => boolean): void;
  generation(resource: GroupResource): number;
}
