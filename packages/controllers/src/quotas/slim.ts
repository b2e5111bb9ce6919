import type { KubeObject } from '@capstan/machinery';

type Fields = { readonly [name: string]: unknown };

/** The part of an object that is measured. Containers are the largest part of a pod, and only their resources count. */
export function slimMeasured(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, status } = object;
  const { name, namespace, uid, resourceVersion, deletionTimestamp, deletionGracePeriodSeconds, annotations } = metadata;
  const spec = (object['spec'] ?? {}) as Fields;
  return {
    apiVersion,
    kind,
    metadata: present({ name, namespace, uid, resourceVersion, deletionTimestamp, deletionGracePeriodSeconds, annotations }),
    spec: { ...spec, containers: slimContainers(spec['containers']), initContainers: slimContainers(spec['initContainers']), volumes: [] },
    status,
  } as KubeObject;
}

function slimContainers(containers: unknown): unknown[] {
  if (!Array.isArray(containers)) return [];
  return (containers as Fields[]).map(({ name, resources, restartPolicy }) => present({ name, resources, restartPolicy }));
}

function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
