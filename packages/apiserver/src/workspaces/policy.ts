import { adminCluster, type ClusterId, platformControllersUser, platformOwnersGroup, rootCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { type KubeObject, rulesOf } from '@capstan/machinery';
import { type StaticPolicy, staticPolicy } from '../authz/policy.ts';
import { rbacGroup, rbacResources } from '../authz/resolver.ts';
import { rbacObjects } from '../bootstrap/rbac.ts';
import { parseRule, type RuleTable } from '../bootstrap/rule-text.ts';
import { LastChanges } from '../cache/last-changes.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { logicalClusters } from './tree.ts';

/** Sets up workspaces on behalf of the platform. */
export const bootstrapperGroup = 'system:kcp:tenancy:workspace-bootstrapper';
/** Creates and deletes logical clusters, also before the workspace exists. */
export const logicalClusterAdminGroup = 'system:kcp:logical-cluster-admin';
export const externalLogicalClusterAdminGroup = 'system:kcp:external-logical-cluster-admin';

/** Prefix of users and groups when the workspace of an export authorizes its consumers by the maximal permission policy. */
export const maximalPermissionPrefix = 'apis.kcp.io:binding:';

/**
 * The rights of `platform-controllers` in the platform's workspace: to install what products need, and to act as their accounts. Publishing a
 * catalog needs the right to read it, and creating a role needs all of its rights, so these are many.
 */
const platformContent: readonly string[] = [
  'access url:/',
  'read * @*',
  'create,delete,patch,update apiresourceschemas,apiexports,apiexportendpointslices,apibindings @apis.kcp.io',
  'bind apiexports @apis.kcp.io',
  'create,delete,patch,update cachedresources,cachedresourceendpointslices @cache.kcp.io',
  'bind,create,delete,escalate,patch,update clusterroles,clusterrolebindings,roles,rolebindings @rbac.authorization.k8s.io',
  'create,delete,patch,update namespaces,serviceaccounts,configmaps',
  'create serviceaccounts/token',
  'create,delete,patch,update leases @coordination.k8s.io',
  'create,patch,update events',
  'create,patch,update events @events.k8s.io',
  'create,patch,update nodescripts @fleet.capstan.dev',
  'create,patch,update apps @apps.capstan.dev',
];

/**
 * Roles that can be bound in any workspace. The last four are for people: the platform's owner, providers of APIs, their users, and
 * viewers.
 */
const rolesEverywhere: RuleTable = {
  [bootstrapperGroup]: ['* * @*', '* url:*'],
  [logicalClusterAdminGroup]: ['* logicalclusters,logicalclusters/status @core.kcp.io', 'delete,get,update workspaces @tenancy.kcp.io'],
  [externalLogicalClusterAdminGroup]: [
    'delete,get,update logicalclusters,logicalclusters/status @core.kcp.io',
    'delete,get,update workspaces @tenancy.kcp.io',
    'get,patch,update apiexportendpointslices/status @apis.kcp.io',
    'read apiexportendpointslices @apis.kcp.io',
    'access url:/',
  ],
  [platformControllersUser]: platformContent,
  'system:kcp:tenancy:reader': ['read workspaces,workspacetypes @tenancy.kcp.io', 'read logicalclusters @core.kcp.io'],
  'system:kcp:workspace:access': ['access url:/'],
  'platform-owner': ['* * @*', '* url:*'],
  'service-provider': [
    'access url:/',
    'all * @apis.kcp.io',
    '* apiexports/content @apis.kcp.io',
    'bind apiexports @apis.kcp.io',
    'all customresourcedefinitions @apiextensions.k8s.io',
    'all configmaps,secrets,serviceaccounts,serviceaccounts/token,events,namespaces',
    'all workspaces @tenancy.kcp.io',
    'read workspacetypes @tenancy.kcp.io',
    'read logicalclusters @core.kcp.io',
  ],
  user: [
    'access url:/',
    'get url:/capstan/usage',
    'all configmaps,secrets,serviceaccounts,serviceaccounts/token,namespaces',
    'all pods',
    'get pods/log,pods/status',
    'create,get pods/attach,pods/exec,pods/portforward',
    'get,list pods @metrics.k8s.io',
    'read events,resourcequotas,limitranges',
    'all apibindings @apis.kcp.io',
    'all boundobjects,boundobjects/scale @workspaces.capstan.dev',
    'get boundobjects/log,boundobjects/status @workspaces.capstan.dev',
    'create,get boundobjects/exec @workspaces.capstan.dev',
    'create,delete,get,patch,update boundobjects/proxy @workspaces.capstan.dev',
    'read apiexports,apiresourceschemas @apis.kcp.io',
    'all workspaces @tenancy.kcp.io',
    'read workspacetypes @tenancy.kcp.io',
    'read logicalclusters @core.kcp.io',
  ],
  viewer: [
    'access url:/',
    'get url:/capstan/usage',
    'read configmaps,serviceaccounts,namespaces,pods,pods/status,events,resourcequotas,limitranges',
    'get pods/log',
    'get,list pods @metrics.k8s.io',
    'read apibindings,apiexports,apiresourceschemas @apis.kcp.io',
    'read boundobjects,boundobjects/scale,boundobjects/status @workspaces.capstan.dev',
    'get boundobjects/log @workspaces.capstan.dev',
    'read workspaces,workspacetypes @tenancy.kcp.io',
    'read logicalclusters @core.kcp.io',
  ],
};

/** The roles that every workspace lists. The others are for programs, but can be bound too. */
export const rolesForPeople: ReadonlySet<string> = new Set([
  ...['cluster-admin', 'admin', 'edit', 'view'],
  ...['platform-owner', 'service-provider', 'user', 'viewer', 'system:kcp:workspace:access'],
]);

/** The rights of everybody to use the root workspace's exports. */
const rolesInRoot: RuleTable = {
  'system:kcp:apiexport:tenancy:bind': ['bind apiexports @apis.kcp.io #tenancy.kcp.io'],
  'system:kcp:apiexport:topology:bind': ['bind apiexports @apis.kcp.io #topology.kcp.io'],
  'system:kcp:apiexport:kcp-admin:maximal-permission-policy': ['* * @tenancy.kcp.io'],
  'system:kcp:apiexport:tenancy:maximal-permission-policy': [
    '* workspaces,workspaceauthenticationconfigurations,workspacetypes @tenancy.kcp.io',
    'read workspaces/status,workspacetypes/status @tenancy.kcp.io',
  ],
  'system:kcp:apiexport:topology:maximal-permission-policy': ['* partitions,partitionsets @topology.kcp.io'],
  'system:kcp:home-workspace-create': ['create,get workspaces @tenancy.kcp.io #~'],
  'system:capstan:session-token': ['post url:/capstan/session-token'],
  'system:capstan:journal': ['get url:/capstan/journal'],
  'system:capstan:platform-types': ['get,patch,update workspacetypes @tenancy.kcp.io #project,home'],
  'system:kcp:universal-workspacetype-use': ['use workspacetypes @tenancy.kcp.io #universal,organization,team,project'],
};

/** Accounts of controllers that read every object in every workspace. */
const journalReaders = ['generic-garbage-collector', 'resourcequota-controller'];

const everybody = 'system:authenticated';

/** Groups and their roles. */
const holdersEverywhere: readonly (readonly [group: string, role: string])[] = [
  [platformOwnersGroup, 'cluster-admin'],
  [bootstrapperGroup, bootstrapperGroup],
  [`${maximalPermissionPrefix}${bootstrapperGroup}`, bootstrapperGroup],
  [logicalClusterAdminGroup, logicalClusterAdminGroup],
  [externalLogicalClusterAdminGroup, externalLogicalClusterAdminGroup],
];

const holdersInRoot: readonly (readonly [group: string, role: string])[] = [
  [everybody, 'system:kcp:workspace:access'],
  [everybody, 'system:capstan:session-token'],
  [everybody, 'system:kcp:apiexport:tenancy:bind'],
  [everybody, 'system:kcp:apiexport:topology:bind'],
  [everybody, 'system:kcp:home-workspace-create'],
  [everybody, 'system:kcp:universal-workspacetype-use'],
  [everybody, 'system:kcp:tenancy:reader'],
  [`${maximalPermissionPrefix}${everybody}`, 'system:kcp:apiexport:tenancy:maximal-permission-policy'],
  [`${maximalPermissionPrefix}${everybody}`, 'system:kcp:apiexport:topology:maximal-permission-policy'],
  [`${maximalPermissionPrefix}${platformOwnersGroup}`, 'system:kcp:apiexport:kcp-admin:maximal-permission-policy'],
];

/**
 * The policy of each workspace that is not stored there: the built-in part, and the part that the platform's owner wrote into
 * `system:admin`. The root workspace stores Kubernetes' part, so that it can be read and changed as in Kubernetes.
 */
export function workspacePolicies(objects: ObjectReader): (cluster: ClusterId) => StaticPolicy {
  const kubernetes = rbacObjects();
  const own = [...roles(rolesEverywhere), ...holdersEverywhere.map(binding)];
  const everywhere = staticPolicy([...kubernetes, ...own]);
  const clusterAdmin = kubernetes.filter(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'cluster-admin');
  const root = staticPolicy([
    ...clusterAdmin,
    ...own,
    ...roles(rolesInRoot),
    ...holdersInRoot.map(binding),
    journalBinding,
    platformTypesBinding,
  ]);
  const withOwners = (policy: StaticPolicy): StaticPolicy => ({
    clusterRole: (name) => {
      const role = objects.get({ ...rbacResources.clusterRoles, cluster: adminCluster, namespace: '', name });
      return role === undefined ? policy.clusterRole(name) : rulesOf(role);
    },
    get bindings() {
      return [...policy.bindings, ...objects.list(rbacResources.clusterRoleBindings, adminCluster)];
    },
  });
  const [inRoot, elsewhere] = [withOwners(root), withOwners(everywhere)];
  return (cluster) => (cluster === rootCluster ? inRoot : elsewhere);
}

/** A number per workspace that changes whenever anybody's rights in it, or access to it, may have changed. */
export function changesOfRights(cache: WatchCache): (cluster: ClusterId) => number {
  const changes = new LastChanges(cache, [logicalClusters, ...Object.values(rbacResources)]);
  return (cluster) => Math.max(changes.in(cluster), changes.in(adminCluster));
}

function roles(table: RuleTable): KubeObject[] {
  return Object.entries(table).map(([name, rules]) => ({
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRole',
    metadata: { name },
    rules: rules.map(parseRule),
  }));
}

const journalBinding: KubeObject = {
  apiVersion: `${rbacGroup}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: 'system:capstan:journal' },
  subjects: journalReaders.map((name) => ({ kind: 'ServiceAccount', namespace: 'kube-system', name })),
  roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'system:capstan:journal' },
};

/** Products are bound by the types of projects and homes. */
const platformTypesBinding: KubeObject = {
  apiVersion: `${rbacGroup}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: 'system:capstan:platform-types' },
  subjects: [{ kind: 'User', apiGroup: rbacGroup, name: platformControllersUser }],
  roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'system:capstan:platform-types' },
};

function binding([group, role]: readonly [string, string]): KubeObject {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: `${role}:${group}` },
    subjects: [{ kind: 'Group', apiGroup: rbacGroup, name: group }],
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
  };
}
