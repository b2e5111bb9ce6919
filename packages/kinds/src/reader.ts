import type { GroupResource, KubeObject } from '@capstan/machinery';

/** Reads other objects of the server, for strategies, RBAC, tokens, admission and quotas. */
export interface ObjectReader {
  get(at: ObjectKey): KubeObject | undefined;
  list(resource: GroupResource, cluster: string, namespace?: string): KubeObject[];
  /**
   * A number that changes with every change of an object of this resource, in any workspace. Results computed at the same number are still
   * valid.
   */
  generation(resource: GroupResource): number;
}

export interface ObjectKey extends GroupResource {
  readonly cluster: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}
