import { type ClusterId, rootCluster } from '@capstan/api';
import { rbacAuthorizer } from '../authz/authorizer.ts';
import { nodeAuthorizer } from '../authz/nodes/authorizer.ts';
import { PodsOfNodes } from '../authz/nodes/pods-of-nodes.ts';
import { Bindings } from '../bindings/bindings.ts';
import { componentRoles } from '../bootstrap/cluster-roles.ts';
import { parseRule } from '../bootstrap/rule-text.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { agentAuthorizer } from '../node-agents/authorizer.ts';
import type { Catalog } from '../registry/catalog.ts';
import type { Catalogs } from '../registry/catalogs.ts';
import { type WorkspaceAuthorizer, workspaceAuthorizer } from '../workspaces/authorizer.ts';
import type { BuiltInKinds } from '../workspaces/kinds/built-in-kinds.ts';
import { isTenantKind } from '../workspaces/kinds/tenant-kinds.ts';
import { maximalPolicy } from '../workspaces/maximal-policy.ts';
import type { Organizations } from '../workspaces/organization.ts';
import { changesOfRights, workspacePolicies } from '../workspaces/policy.ts';
import { type AuthorizationOptions, authorization } from './authorization.ts';

export interface Rights {
  readonly policyIn: ReturnType<typeof workspacePolicies>;
  /** Decides by roles, and by nothing else. */
  readonly rbac: ReturnType<typeof rbacAuthorizer>;
  /** Who decides about requests. */
  readonly authorizer: ReturnType<typeof authorization>;
  /** Whether a user has access to a workspace by its roles. */
  readonly mayEnter: WorkspaceAuthorizer['mayEnter'];
}

interface RightsParts {
  readonly cache: WatchCache;
  readonly catalog: Catalog;
  readonly catalogs: Catalogs;
  readonly builtIn: BuiltInKinds;
  readonly organizations: Pick<Organizations, 'of'>;
  /** The workspace of the fleet. */
  readonly platform: () => ClusterId | undefined;
}

/**
 * Who may do what: the rights of nodes, the roles of each workspace, what providers permit at most, and whoever the operator asks beside
 * them.
 */
export function rights(
  { cache, catalog, catalogs, builtIn, organizations, platform }: RightsParts,
  options: AuthorizationOptions | undefined,
  lasting: Parameters<typeof authorization>[2],
): Rights {
  const policyIn = workspacePolicies(cache);
  const changedIn = changesOfRights(cache);
  const rbac = rbacAuthorizer(cache, { policyIn, changedIn, organizationOf: organizations.of });
  const maximal = maximalPolicy({
    objects: cache,
    bindings: new Bindings(cache),
    rbac,
    isNeverBound: ({ cluster, group, resource }) =>
      catalog.isBuiltin(group) && (cluster === rootCluster || isTenantKind(group, resource) || builtIn.in(cluster).has(group, resource)),
  });
  const roles = workspaceAuthorizer({ rbac, objects: cache, maximal, changedIn });
  const nodes = nodeAuthorizer({
    objects: cache,
    podsOfNodes: new PodsOfNodes(cache),
    servesNodes: (cluster) => catalogs.of(cluster).resource('', 'v1', 'nodes') !== undefined,
    rules: componentRoles['system:node']!.map(parseRule),
  });
  return {
    policyIn,
    rbac,
    mayEnter: (user, cluster) => roles.mayEnter(user, cluster),
    authorizer: agentAuthorizer(authorization({ nodes, roles }, options, lasting), platform),
  };
}
