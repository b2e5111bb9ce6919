import {
  type ApiBinding,
  type ApiBindingStatus,
  type ApiExport,
  type ApiResourceSchema,
  type BoundResource,
  holding,
  identityNamespace,
  type LogicalCluster,
  logicalClusterName,
  pathAnnotation,
  rootCluster,
  type Shard,
  typeAnnotation,
} from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import type { RootExport } from '../kinds/definitions.ts';

const v1alpha2 = 'apis.kcp.io/v1alpha2';
const annotations = { [pathAnnotation]: rootCluster };

export function logicalCluster(): LogicalCluster {
  return {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: logicalClusterName, annotations: { ...annotations, [typeAnnotation]: 'root:root' } },
    spec: {},
  };
}

/** kcp distributes workspaces over several shards; here the server is the only one. */
export function shard(url: string): Shard {
  return {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'Shard',
    metadata: { name: 'root', labels: { name: 'root' } },
    spec: { baseURL: url, externalURL: url, virtualWorkspaceURL: url },
  };
}

/** The holder of the key is the provider of the objects stored under its hash. */
export function identitySecret(name: string, key: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: identityNamespace },
    type: 'Opaque',
    data: { key: Buffer.from(key).toString('base64') },
  };
}

export function apiExport({ name, resources, maximalPermissionPolicy }: RootExport): ApiExport {
  return {
    apiVersion: v1alpha2,
    kind: 'APIExport',
    metadata: { name, annotations },
    spec: {
      identity: { secretRef: { namespace: identityNamespace, name } },
      ...(maximalPermissionPolicy !== undefined && { maximalPermissionPolicy }),
      resources,
    },
  };
}

export function apiExportStatus(status: ApiExport['status'], identityHash: string, now: Date): NonNullable<ApiExport['status']> {
  return { ...status, identityHash, conditions: holding(['IdentityValid'], now) };
}

export function apiBinding(name: string): ApiBinding {
  return {
    apiVersion: v1alpha2,
    kind: 'APIBinding',
    metadata: { name },
    spec: { reference: { export: { path: rootCluster, name } } },
  };
}

/** The final status of a binding to all resources of an export. */
export function apiBindingStatus(schemas: readonly ApiResourceSchema[], identityHash: string, now: Date): ApiBindingStatus {
  const conditions = [
    'Ready',
    'APIExportValid',
    'BindingUpToDate',
    'InitialBindingCompleted',
    'PermissionClaimsApplied',
    'PermissionClaimsValid',
  ];
  return {
    apiExportClusterName: rootCluster,
    boundResources: schemas.map((schema) => boundResource(schema, identityHash)),
    conditions: holding(conditions, now),
    phase: 'Bound',
    exportPermissionClaims: [],
    appliedPermissionClaims: [],
  };
}

function boundResource({ metadata, spec }: ApiResourceSchema, identityHash: string): BoundResource {
  const { group, names, versions } = spec!;
  return {
    group,
    resource: names.plural,
    schema: { name: metadata.name!, UID: metadata.uid!, identityHash },
    storageVersions: versions.filter(({ storage }) => storage).map(({ name }) => name),
  };
}
