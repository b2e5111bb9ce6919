import { builtInKindsAnnotation, pathAnnotation, rootCluster } from '@capstan/api';
import { withApplied } from '@capstan/api/hashes';
import type { JsonObject, KubeObject } from '@capstan/machinery';

const inRoot = (name: string): JsonObject => ({ name, path: rootCluster });
const universal = { extend: { with: [inRoot('universal')] }, defaultChildWorkspaceType: inRoot('universal') };

/** Bindings to products are added by `platform-controllers`, to existing workspaces too. */
const products = { defaultAPIBindingLifecycle: 'Maintain' };

/** Specs by name. */
const types: Readonly<Record<string, JsonObject>> = {
  root: {
    extend: { with: [inRoot('universal')] },
    defaultChildWorkspaceType: inRoot('organization'),
    limitAllowedParents: { none: true },
  },
  /** Without restrictions; the base of the others. */
  universal: {
    initializer: true,
    defaultAPIBindings: ['tenancy.kcp.io', 'topology.kcp.io'].map((name) => ({ path: rootCluster, export: name })),
    defaultChildWorkspaceType: inRoot('universal'),
  },
  /** A tenant, with its members, quota and bill. */
  organization: {
    ...universal,
    limitAllowedChildren: { types: [inRoot('universal')] },
    limitAllowedParents: { types: [inRoot('root')] },
  },
  /** A place for a tenant's objects. */
  project: { ...universal, ...products, limitAllowedParents: { types: ['organization', 'team', 'project'].map(inRoot) } },
  team: { ...universal, limitAllowedParents: { types: ['organization', 'team'].map(inRoot) } },
  /** A user's home. It has no parent. */
  home: { ...universal, ...products, limitAllowedParents: { none: true } },
};

/** The kinds of Kubernetes that the workspaces of a type serve beside those that all have. */
const builtInKinds: Readonly<Record<string, string>> = { project: 'pods', home: 'pods' };

/** The types that are available to every workspace. */
export function rootTypes(): KubeObject[] {
  return Object.entries(types).map(([name, spec]) =>
    withApplied({
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name, annotations: { [pathAnnotation]: rootCluster, ...kindsOf(name) } },
      spec: structuredClone(spec),
    }),
  );
}

function kindsOf(name: string): Record<string, string> {
  const kinds = builtInKinds[name];
  return kinds === undefined ? {} : { [builtInKindsAnnotation]: kinds };
}
