import { clusterOf } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';

/** A namespace of a workspace, as a key. */
export function placeOf(object: KubeObject): string {
  return `${clusterOf(object) ?? ''}|${object.metadata.namespace ?? ''}`;
}
