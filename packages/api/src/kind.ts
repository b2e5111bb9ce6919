/** How a kind is addressed. */
export interface KindReference {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural, as in paths: `workspaces`. */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly kind: string;
}

/** References to the cluster-scoped kinds of one group. */
export function clusterScoped(group: string, version: string): (resource: string, kind: string) => KindReference {
  return (resource, kind) => ({ group, version, resource, namespaced: false, kind });
}

/** A kind in any version, as stores and caches index it. */
export function groupResource({ group, resource }: KindReference): Pick<KindReference, 'group' | 'resource'> {
  return { group, resource };
}
