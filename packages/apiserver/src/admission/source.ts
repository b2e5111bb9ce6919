import { type ClusterId, clusterAnnotation, rootCluster } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { Bindings } from '../bindings/bindings.ts';
import type { AdmissionRequest } from '../registry/admission.ts';

/**
 * The workspace whose webhooks and policies apply: for a bound API, the one that exports it. The provider of an API decides what is valid,
 * wherever it is used.
 */
export function ruleCluster({ resource, context }: AdmissionRequest): ClusterId {
  const { cluster, objects } = context;
  // Only bound APIs are stored under the identity of another workspace.
  if (!resource.storage.resource.includes(':')) return cluster;
  return new Bindings(objects).bringing(cluster, resource)?.provider ?? cluster;
}

/** The object as shown to webhooks and policies: with the annotation that names its workspace, except in the root workspace. */
export function naming<T extends KubeObject | undefined>(object: T, { context: { cluster } }: AdmissionRequest): T {
  if (object === undefined || cluster === rootCluster || object.metadata === undefined) return object;
  return { ...object, metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [clusterAnnotation]: cluster } } };
}

/** The object without that annotation, as it is stored. */
export function unnaming(object: KubeObject): KubeObject {
  const { [clusterAnnotation]: named, ...others } = object.metadata?.annotations ?? {};
  if (named === undefined) return object;
  const { annotations: _replaced, ...metadata } = object.metadata;
  return { ...object, metadata: Object.keys(others).length === 0 ? metadata : { ...metadata, annotations: others } };
}
