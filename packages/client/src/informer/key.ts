import { clusterAnnotation } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';

/** Identifies an object across workspaces. */
export interface ObjectKey {
  /** Set only for objects from an endpoint over many workspaces. */
  readonly cluster?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export function clusterOf(object: KubeObject): string | undefined {
  return object.metadata.annotations?.[clusterAnnotation];
}

export function objectKey({ metadata }: KubeObject): ObjectKey {
  const cluster = metadata.annotations?.[clusterAnnotation];
  return {
    ...(cluster !== undefined && { cluster }),
    ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
    name: metadata.name ?? '',
  };
}

/** `name`, `namespace/name` or `cluster|namespace/name`. */
export function formatKey({ cluster, namespace, name }: ObjectKey): string {
  const local = namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
  return cluster === undefined || cluster === '' ? local : `${cluster}|${local}`;
}

/** The same as formatKey of objectKey, without the intermediate object. */
export function keyText({ metadata }: KubeObject): string {
  const { namespace, name = '' } = metadata;
  const cluster = metadata.annotations?.[clusterAnnotation];
  const local = namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
  return cluster === undefined ? local : `${cluster}|${local}`;
}

export function parseKey(text: string): ObjectKey {
  const bar = text.indexOf('|');
  const local = text.slice(bar + 1);
  const slash = local.indexOf('/');
  return {
    ...(bar !== -1 && { cluster: text.slice(0, bar) }),
    ...(slash !== -1 && { namespace: local.slice(0, slash) }),
    name: local.slice(slash + 1),
  };
}
