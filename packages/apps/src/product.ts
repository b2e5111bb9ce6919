import {
  adminCertificateSubresource,
  allocationKind,
  appInstanceKind,
  appKind,
  appMemberKind,
  appOperationKind,
  appsGroup,
  appsNamespace,
  gpuNodeKind,
  logicalClusterKind,
  nodeBookingKind,
  nodeScriptKind,
  nodeTaskKind,
  type PermissionClaim,
} from '@capstan/api';
import type { PolicyRule, Product } from '@capstan/platform';
import { adapterFinder } from './adapter/finding.ts';
import { type AdapterRegistration, contentOf } from './adapter/registration.ts';
import { webAdapters } from './adapter/web.ts';
import { builtInAdapters } from './adapters/built-in.ts';
import { type InstancesOptions, instances } from './instances/controller.ts';

const read = ['get', 'list', 'watch'];

/** All that the controllers may do in root:platform. */
const rules: readonly PolicyRule[] = [
  {
    apiGroups: [gpuNodeKind.group],
    resources: [gpuNodeKind.resource, nodeBookingKind.resource, nodeScriptKind.resource],
    verbs: read,
  },
  { apiGroups: [nodeTaskKind.group], resources: [nodeTaskKind.resource], verbs: [...read, 'create', 'patch', 'delete'] },
  { apiGroups: [nodeTaskKind.group], resources: [`${nodeTaskKind.resource}/log`], verbs: ['get'] },
  { apiGroups: [appKind.group], resources: [appKind.resource], verbs: read },
  // In the namespaces of nodes, for single tasks: the admission of the server refuses others. Reading them is up to the agents.
  { apiGroups: [''], resources: ['secrets'], verbs: ['create', 'delete'] },
];

/** Objects of tenants that apps need. */
const claims: readonly PermissionClaim[] = [
  { group: '', resource: 'events', verbs: ['create', 'patch'] },
  { group: logicalClusterKind.group, resource: logicalClusterKind.resource, verbs: ['get'] },
  { group: allocationKind.group, resource: allocationKind.resource, verbs: read },
];

/** Tenants say what they want and begin operations; everything else is told by the platform. */
const tenantRules: readonly PolicyRule[] = [
  { apiGroups: [appsGroup], resources: [appInstanceKind.resource, appOperationKind.resource], verbs: ['*'] },
  { apiGroups: [appsGroup], resources: [appInstanceKind, appOperationKind].map(({ resource }) => `${resource}/status`), verbs: ['get'] },
  { apiGroups: [appsGroup], resources: [`${appOperationKind.resource}/log`], verbs: ['get'] },
  // The Kubernetes API of an instance, whose roles decide what its users may do there, and shells.
  { apiGroups: [appsGroup], resources: [`${appInstanceKind.resource}/proxy`, `${appMemberKind.resource}/exec`], verbs: ['*'] },
  { apiGroups: [appsGroup], resources: [`${appInstanceKind.resource}/${adminCertificateSubresource}`], verbs: ['create'] },
  { apiGroups: [appsGroup], resources: [appKind.resource, appMemberKind.resource], verbs: read },
  { apiGroups: [appsGroup], resources: [`${appMemberKind.resource}/status`], verbs: ['get'] },
];

export interface AppsOptions extends InstancesOptions {
  readonly adapters?: readonly AdapterRegistration[];
}

/** The product that deploys distributed systems on allocations of tenants. */
export function appsProduct({ adapters = builtInAdapters, ...options }: AppsOptions = {}): Product {
  return {
    name: 'apps',
    kinds: [appKind, appInstanceKind, appMemberKind, appOperationKind],
    catalogs: [appKind],
    boundBy: ['project', 'home'],
    claims,
    tenantRules,
    rules,
    namespaces: [
      {
        name: appsNamespace,
        rules: [
          { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update', 'patch', 'delete'] },
          // The accounts with which instances report on themselves.
          { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['create', 'delete'] },
          { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
        ],
      },
    ],
    controllers: [
      {
        name: 'instances',
        make: ({ tenants, platform }) =>
          instances({ tenants, platform, adapterOf: adapterFinder(adapters, webAdapters(platform)), ...options }),
      },
    ],
    content: () => contentOf(adapters),
  };
}

export const apps: Product = appsProduct();
