import { pathAnnotation, rootCluster } from '@capstan/api';
import type { JsonObject, KubeObject } from '@capstan/machinery';

const inRoot = (name: string): JsonObject => ({ name, path: rootCluster });
const universal = { extend: { with: [inRoot('universal')] }, defaultChildWorkspaceType: inRoot('universal') };

/** Name → what it is. */
const types: Readonly<Record<string, JsonObject>> = {
  root: {
    extend: { with: [inRoot('universal')] },
    defaultChildWorkspaceType: inRoot('organization'),
    limitAllowedParents: { none: true },
  },
  /** Without restrictions; what others extend. */
  universal: {
    initializer: true,
    defaultAPIBindings: ['tenancy.kcp.io', 'topology.kcp.io'].map((name) => ({ path: rootCluster, export: name })),
    defaultChildWorkspaceType: inRoot('universal'),
  },
  /** A tenant: its members, its quota, its bill. */
  organization: {
    ...universal,
    limitAllowedChildren: { types: [inRoot('universal')] },
    limitAllowedParents: { types: [inRoot('root')] },
  },
  /** Where a tenant's work lies. */
  project: { ...universal, limitAllowedParents: { types: ['organization', 'team', 'project'].map(inRoot) } },
  team: { ...universal, limitAllowedParents: { types: ['organization', 'team'].map(inRoot) } },
  /** A user's own. It lies below no other. */
  home: { ...universal, limitAllowedParents: { none: true } },
};

/** The types that every workspace can be of. */
export function rootTypes(): KubeObject[] {
  return Object.entries(types).map(([name, spec]) => ({
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceType',
    metadata: { name, annotations: { [pathAnnotation]: rootCluster } },
    spec: structuredClone(spec),
  }));
}
