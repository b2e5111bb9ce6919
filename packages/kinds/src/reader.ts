import type { GroupResource, KubeObject } from '@capstan/machinery';

/** Reads other objects of the server: what strategies, RBAC, tokens, admission and quotas need beside the object at hand. */
export interface ObjectReader {
  get(at: ObjectKey): KubeObject | undefined;
  list(resource: GroupResource, cluster: string, namespace?: string): KubeObject[];
  /** A number that changes whenever an object of this resource does, in any workspace. Results computed at the same number are still valid. */
  generation(resource: GroupResource): number;
}

export interface ObjectKey extends GroupResource {
  readonly cluster: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}
