import { type ClusterId, everyCluster, rootCluster } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import type { StaticPolicy } from '../authz/policy.ts';
import { rbacGroup, rbacResources } from '../authz/resolver.ts';
import type { CacheEntry } from '../cache/entry.ts';
import { cacheKey, type WatchCache } from '../cache/watch-cache.ts';
import type { BuiltinObjects } from '../handlers/builtin.ts';
import { unsaved } from '../registry/create.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestInfo } from '../registry/scope.ts';
import { rolesForPeople } from './policy.ts';
import { logicalClusterOf } from './tree.ts';

/** Distinguishes them from users' roles; Kubernetes labels its own default roles the same way. */
const labels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };

/**
 * Serves the user-facing roles in every workspace although none stores them. Their rules, and whether a workspace has them, come from the
 * policy that authorizes requests. They do not aggregate other roles there, so they have no aggregation rule.
 */
export function builtinRoles({
  cache,
  policyIn,
}: {
  readonly cache: WatchCache;
  readonly policyIn: (cluster: ClusterId) => StaticPolicy;
}): BuiltinObjects {
  const { group, resource: plural } = rbacResources.clusterRoles;
  const isAbout = ({ group: asked, resource }: Resource, { cluster, place }: RequestInfo): boolean =>
    resource === plural &&
    asked === group &&
    place.kind !== 'view' &&
    cluster !== everyCluster &&
    (cluster === rootCluster || logicalClusterOf(cache, cluster) !== undefined);

  function roleIn(cluster: ClusterId, name: string): CacheEntry | undefined {
    const key = cacheKey({ cluster, namespace: '', name });
    if (cache.resource(rbacResources.clusterRoles).newest(key) !== undefined) return undefined;
    const rules = policyIn(cluster).clusterRole(name);
    if (rules === undefined) return undefined;
    const role = { kind: 'ClusterRole', apiVersion: `${rbacGroup}/v1`, metadata: { name, labels }, rules };
    return unsaved(key, role as unknown as KubeObject);
  }

  return {
    find: (resource, info) => (isAbout(resource, info) && rolesForPeople.has(info.name) ? roleIn(info.cluster, info.name) : undefined),
    list(resource, info) {
      if (!isAbout(resource, info)) return [];
      return [...rolesForPeople].sort().flatMap((name) => roleIn(info.cluster, name) ?? []);
    },
  };
}
