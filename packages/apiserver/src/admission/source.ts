import { clusterAnnotation, rootCluster } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { Bindings } from '../bindings/bindings.ts';
import type { AdmissionRequest } from '../registry/admission.ts';

/**
 * The workspace whose webhooks and policies count: for what is bound, the one that it is from. Whoever offers an API says what holds for it, wherever it
 * is used.
 */
export function ruleCluster({ resource, context }: AdmissionRequest): string {
  const { cluster, objects } = context;
  // Only what is bound is stored under the identity of somebody else.
  if (!resource.storage.resource.includes(':')) return cluster;
  return new Bindings(objects).bringing(cluster, resource)?.provider ?? cluster;
}

/** The object as it is seen from outside: saying which workspace it is of. In the root workspace it does not. */
export function naming<T extends KubeObject | undefined>(object: T, { context: { cluster } }: AdmissionRequest): T {
  if (object === undefined || cluster === rootCluster || object.metadata === undefined) return object;
  return { ...object, metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [clusterAnnotation]: cluster } } };
}

/** The same object without it, which is how it is stored. */
export function unnaming(object: KubeObject): KubeObject {
  const { [clusterAnnotation]: named, ...others } = object.metadata?.annotations ?? {};
  if (named === undefined) return object;
  const { annotations: _replaced, ...metadata } = object.metadata;
  return { ...object, metadata: Object.keys(others).length === 0 ? metadata : { ...metadata, annotations: others } };
}
