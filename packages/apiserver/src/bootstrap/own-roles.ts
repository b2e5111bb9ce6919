import { type RuleTable, recordEvents } from './rule-text.ts';

/** Who `capstan controller-manager` is: it may contend for its lease and act as the accounts of its controllers, and nothing else. */

/** Of controllers that Kubernetes does not have, or cuts otherwise. Like Kubernetes' own they are named `system:controller:<account>`. */
export const ownControllerRoles: RuleTable = {
  'account-token-controller': ['delete,get,list,update,watch secrets', 'read serviceaccounts', 'create serviceaccounts/token'],
  // Whatever was bound goes with its binding, and whatever is published is counted: that may be anything.
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
  'platform-certificate-controller': [
    'read certificatesigningrequests @certificates.k8s.io',
    'update certificatesigningrequests/approval,certificatesigningrequests/status @certificates.k8s.io',
    'approve,sign signers @certificates.k8s.io #capstan.dev/node-agent',
    'create subjectaccessreviews @authorization.k8s.io',
    recordEvents,
  ],
};

/** What every node agent may do: renew its own certificate. */
export const nodeAgentRole: readonly string[] = [
  'create,get,watch certificatesigningrequests @certificates.k8s.io',
  'create certificatesigningrequests/selfnodeagent @certificates.k8s.io',
];

/** The accounts in kube-system that the controller-manager's controllers act as. */
const accounts = [
  'certificate-controller',
  'clusterrole-aggregation-controller',
  'generic-garbage-collector',
  'namespace-controller',
  'pv-protection-controller',
  'pvc-protection-controller',
  'resourcequota-controller',
  'volumeattributesclass-protection-controller',
  ...Object.keys(ownControllerRoles),
];

/** In kube-system. */
export const controllerManagerRole: readonly string[] = [
  'create leases @coordination.k8s.io',
  'get,update leases @coordination.k8s.io #capstan-controller-manager',
  `impersonate serviceaccounts #${accounts.join(',')}`,
];
