import type { KubeObject } from '@capstan/machinery/objects';

declare const objectType: unique symbol;

/**
 * A kind in any version, as stores and caches index it. It carries the type of the kind's objects, so that reads of stored objects, which have
 * passed their schema, are typed. The type exists only for the compiler.
 */
export interface StoredKind<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  /** The plural, as in paths: `workspaces`. */
  readonly resource: string;
  readonly [objectType]?: T;
}

/** How a kind is addressed. */
export interface KindReference<T extends KubeObject = KubeObject> extends StoredKind<T> {
  readonly version: string;
  readonly namespaced: boolean;
  readonly kind: string;
}

/** References to the cluster-scoped kinds of one group. */
export function clusterScoped(group: string, version: string): <T extends KubeObject>(resource: string, kind: string) => KindReference<T> {
  return (resource, kind) => ({ group, version, resource, namespaced: false, kind });
}

/** The kind in any version. */
export function groupResource<T extends KubeObject>({ group, resource }: KindReference<T>): StoredKind<T> {
  return { group, resource };
}
