import { rootCluster } from '@capstan/api';
import { clusterOf } from '@capstan/client';
import { isWorkspaceQuota, type KubeObject } from '@capstan/machinery';

/** A namespace of a workspace; an empty namespace stands for the whole workspace. */
export interface Place {
  readonly cluster: string;
  readonly namespace: string;
}

export function placeOf(object: KubeObject): Place {
  return { cluster: clusterOf(object) ?? rootCluster, namespace: object.metadata.namespace ?? '' };
}

/** The place that a quota limits. */
export function reachOf(quota: KubeObject): Place {
  const place = placeOf(quota);
  return isWorkspaceQuota(quota) ? wholeOf(place) : place;
}

export function wholeOf({ cluster }: Place): Place {
  return { cluster, namespace: '' };
}

export function placeKey({ cluster, namespace }: Place): string {
  return `${cluster}|${namespace}`;
}
