import { clusterOf } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';

/** A namespace of a workspace. */
export interface Place {
  readonly cluster: string;
  readonly namespace: string;
}

/** Objects that name no workspace are of this one. */
export const rootCluster = 'root';

export function placeOf(object: KubeObject): Place {
  return { cluster: clusterOf(object) ?? rootCluster, namespace: object.metadata.namespace ?? '' };
}

export function placeKey({ cluster, namespace }: Place): string {
  return `${cluster}|${namespace}`;
}
