import type { GroupResource, KubeObject } from '@capstan/machinery';

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
