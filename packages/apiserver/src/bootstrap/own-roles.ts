import { type RuleTable, recordEvents } from './rule-text.ts';

/**
 * The rules of controllers that Kubernetes lacks or divides differently. Like Kubernetes' own they are named `system:controller:<account>`.
 */
export const ownControllerRoles: RuleTable = {
  'account-token-controller': ['delete,get,list,update,watch secrets', 'read serviceaccounts', 'create serviceaccounts/token'],
  // It deletes bound objects along with their binding and counts published ones, and both can be of any kind.
  'api-sharing-controller': [
    'read apiexports,apibindings,apiexportendpointslices,apiresourceschemas,apiconversions @apis.kcp.io',
    'patch,update apiexports,apiexports/status,apibindings,apibindings/status,apiexportendpointslices/status @apis.kcp.io',
    'create apibindings,apiexportendpointslices @apis.kcp.io',
    'create,delete apiresourceschemas @apis.kcp.io',
    'create,delete,update apiconversions @apis.kcp.io',
    'read cachedresources,cachedresourceendpointslices @cache.kcp.io',
    'patch,update cachedresources,cachedresources/status,cachedresourceendpointslices/status @cache.kcp.io',
    'create cachedresourceendpointslices @cache.kcp.io',
    'read shards @core.kcp.io',
    'get logicalclusters @core.kcp.io',
    'update logicalclusters/status @core.kcp.io',
    'read workspacetypes @tenancy.kcp.io',
    'read partitions @topology.kcp.io',
    'read customresourcedefinitions @apiextensions.k8s.io',
    'create namespaces',
    'create,get secrets',
    'delete,list,watch * @*',
    recordEvents,
  ],
  'identity-lease-controller': ['delete,get,list,watch leases @coordination.k8s.io'],
  'namespace-defaults-controller': [
    'read namespaces',
    'create serviceaccounts',
    'read serviceaccounts #default',
    'create configmaps',
    'get,list,update,watch configmaps #kube-root-ca.crt',
  ],
  'partition-controller': [
    'read partitionsets @topology.kcp.io',
    'update partitionsets/status @topology.kcp.io',
    'create,delete,get,list,watch partitions @topology.kcp.io',
    'read shards @core.kcp.io',
    recordEvents,
  ],
  'unscheduled-pod-controller': ['read pods,nodes', recordEvents],
  'workspace-controller': [
    'create,get,list,watch,patch,update workspaces,workspaces/status,workspacetypes/status @tenancy.kcp.io',
    'get,list,use,watch workspacetypes @tenancy.kcp.io',
    'create,delete,get,list,watch,patch,update logicalclusters,logicalclusters/status @core.kcp.io',
    'read shards @core.kcp.io',
    'delete,post url:/capstan/workspaces/*',
    recordEvents,
  ],
};

/** The accounts in kube-system that the controllers of the controller-manager impersonate. */
const accounts = [
  'certificate-controller',
  'clusterrole-aggregation-controller',
  'generic-garbage-collector',
  'namespace-controller',
  'pv-protection-controller',
  'pvc-protection-controller',
  'resourcequota-controller',
  'token-cleaner',
  'volumeattributesclass-protection-controller',
  ...Object.keys(ownControllerRoles),
];

/**
 * The role of `capstan controller-manager` in kube-system: it may hold its lease and impersonate the accounts of its controllers, nothing
 * else.
 */
export const controllerManagerRole: readonly string[] = [
  'create leases @coordination.k8s.io',
  'get,update leases @coordination.k8s.io #capstan-controller-manager',
  `impersonate serviceaccounts #${accounts.join(',')}`,
];
