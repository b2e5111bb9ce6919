import type { ClusterId, StoredKind } from '@capstan/api';
import type { GroupResource, KubeObject } from '@capstan/machinery';

/** Reads other objects of the server, for strategies, RBAC, tokens, admission and quotas. A kind that carries its type gives typed objects. */
export interface ObjectReader {
  get<T extends KubeObject = KubeObject>(at: ObjectKey<T>): T | undefined;
  list<T extends KubeObject = KubeObject>(resource: StoredKind<T>, cluster: ClusterId, namespace?: string): T[];
  /**
   * A number that changes with every change of an object of this resource, in any workspace. Results computed at the same number are still
   * valid.
   */
  generation(resource: GroupResource): number;
}

export interface ObjectKey<T extends KubeObject = KubeObject> extends StoredKind<T> {
  readonly cluster: ClusterId;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}
