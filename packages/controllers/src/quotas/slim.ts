import type { KubeObject, ObjectMeta } from '@capstan/machinery';

type Fields = { readonly [name: string]: unknown };

/** Kept of any object that is only counted. */
export function slim({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, annotations } = metadata;
  const kept = annotations?.['kcp.io/cluster'];
  return {
    apiVersion,
    kind,
    metadata: present({ name, namespace, uid, resourceVersion, annotations: kept === undefined ? undefined : { 'kcp.io/cluster': kept } }),
  } as KubeObject;
}

/** Kept of an object that is measured: containers are the largest part of pods, and what they take the smallest of them. */
export function slimMeasured(object: KubeObject): KubeObject {
  const { deletionTimestamp, deletionGracePeriodSeconds, annotations } = object.metadata;
  const kept = slim(object);
  const spec = (object['spec'] ?? {}) as Fields;
  return {
    ...kept,
    metadata: { ...kept.metadata, ...(present({ deletionTimestamp, deletionGracePeriodSeconds, annotations }) as ObjectMeta) },
    spec: { ...spec, containers: slimContainers(spec['containers']), initContainers: slimContainers(spec['initContainers']), volumes: [] },
    status: object['status'],
  } as KubeObject;
}

function slimContainers(containers: unknown): unknown[] {
  if (!Array.isArray(containers)) return [];
  return (containers as Fields[]).map(({ name, resources, restartPolicy }) => present({ name, resources, restartPolicy }));
}

function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
