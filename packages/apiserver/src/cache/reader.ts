import type { GroupResource, KubeObject } from '@capstan/machinery';
import type { CacheEntry } from './entry.ts';

/** Reads objects from the watch cache, for the parts of the server that need other objects to do their work (RBAC, tokens, admission, quota). */
export interface ObjectReader {
  get(at: ObjectKey): KubeObject | undefined;
  list(resource: GroupResource, cluster: string, namespace?: string): KubeObject[];
  /** A number that changes whenever an object of this resource does, in any workspace: what was computed at the same number still holds. */
  generation(resource: GroupResource): number;
}

export interface ObjectKey extends GroupResource {
  readonly cluster: string;
  /** Empty for objects without a namespace. */
  readonly namespace: string;
  readonly name: string;
}

/** The same, for those who look at many objects and remember something else of them. */
export interface EntryReader {
  /** Visits what a workspace has of a resource, until `visit` answers false. Objects are not kept parsed for it, as `get` and `list` do. */
  walk(resource: GroupResource, cluster: string, visit: (entry: CacheEntry) => boolean): void;
  generation(resource: GroupResource): number;
}
