import type { ClusterId, StoredKind } from '@capstan/api';
import type { GroupResource, KubeObject } from '@capstan/machinery';
import type { CacheEntry } from './entry.ts';

/** Reads many objects without keeping them in parsed form. */
export interface EntryReader {
  /**
   * Visits the objects of a resource in a workspace until `visit` returns false. Unlike `get` and `list`, does not keep them in
   * parsed form.
   */
  walk<T extends KubeObject = KubeObject>(resource: StoredKind<T>, cluster: ClusterId, visit: (entry: CacheEntry<T>) => boolean): void;
  generation(resource: GroupResource): number;
}
