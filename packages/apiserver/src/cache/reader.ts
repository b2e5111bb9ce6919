import type { ClusterId, StoredKind } from '@capstan/api';
import type { GroupResource, KubeObject } from '@capstan/machinery';
import type { CacheEntry } from './entry.ts';

/** A stored object that is parsed when it is read. */
export interface Unparsed {
  /** The characters of its text. */
  readonly length: number;
  /** Do not modify the result. */
  read(): KubeObject;
}

/** Reads many objects without keeping them in parsed form. */
export interface EntryReader {
  /**
   * Visits the objects of a resource in a workspace until `visit` returns false. Unlike `get` and `list`, does not keep them in
   * parsed form.
   */
  walk<T extends KubeObject = KubeObject>(resource: StoredKind<T>, cluster: ClusterId, visit: (entry: CacheEntry<T>) => boolean): void;
  generation(resource: GroupResource): number;
}
