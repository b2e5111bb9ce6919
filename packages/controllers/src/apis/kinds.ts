import type { KindType } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { Condition } from '../kcp-conditions.ts';

const group = 'apis.kcp.io';
export const exportType: KindType = { group, version: 'v1alpha2', resource: 'apiexports', namespaced: false, kind: 'APIExport' };
export const bindingType: KindType = { group, version: 'v1alpha2', resource: 'apibindings', namespaced: false, kind: 'APIBinding' };
export const schemaType: KindType = {
  group,
  version: 'v1alpha1',
  resource: 'apiresourceschemas',
  namespaced: false,
  kind: 'APIResourceSchema',
};
export const conversionType: KindType = {
  group,
  version: 'v1alpha1',
  resource: 'apiconversions',
  namespaced: false,
  kind: 'APIConversion',
};
export const sliceType: KindType = {
  group,
  version: 'v1alpha1',
  resource: 'apiexportendpointslices',
  namespaced: false,
  kind: 'APIExportEndpointSlice',
};
export const shardType = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards', namespaced: false };
export const partitionType = { group: 'topology.kcp.io', version: 'v1alpha1', resource: 'partitions', namespaced: false };
export const definitionType = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions', namespaced: false };
export const secretType = { group: '', version: 'v1', resource: 'secrets', namespaced: true };
export const namespaceType = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };

/** The workspace of the copies of bound schemas, from which bound kinds are served. */
export const boundSchemasCluster = 'system:bound-crds';
export const pathAnnotation = 'kcp.io/path';

export interface Claim {
  readonly group?: string;
  readonly resource: string;
  readonly identityHash?: string;
  readonly verbs: readonly string[];
  /** The objects that the export asks for where a workspace type accepts the claim; all by default. */
  readonly defaultSelector?: Selector;
}

export interface Selector {
  readonly matchAll?: boolean;
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly object[];
}

export interface ScopedClaim extends Claim {
  readonly selector: Selector;
}

export interface OfferedResource {
  readonly group?: string;
  readonly name: string;
  readonly schema: string;
  readonly storage?: { readonly crd?: object; readonly virtual?: VirtualStorage };
}

/** Objects that are not stored where the resource is bound, but read through the reference. */
export interface VirtualStorage {
  readonly reference: { readonly apiGroup?: string; readonly kind: string; readonly name: string };
  readonly identityHash: string;
}

export interface ApiExport extends KubeObject {
  spec?: {
    resources?: readonly OfferedResource[];
    identity?: { readonly secretRef?: { readonly namespace?: string; readonly name?: string } };
    permissionClaims?: readonly Claim[];
  };
  status?: { identityHash?: string; conditions?: readonly Condition[] };
}

export interface BoundResource {
  readonly group: string;
  readonly resource: string;
  readonly schema: { readonly name: string; readonly UID: string; readonly identityHash: string };
  /** Empty if the objects are not stored in the workspace. */
  readonly storageVersions?: readonly string[];
}

export interface ApiBinding extends KubeObject {
  spec?: {
    reference?: { readonly export?: { readonly path?: string; readonly name: string } };
    permissionClaims?: readonly (ScopedClaim & { readonly state: 'Accepted' | 'Rejected' })[];
  };
  status?: BindingStatus;
}

export interface BindingStatus {
  phase?: 'Binding' | 'Bound';
  apiExportClusterName?: string;
  boundResources?: readonly BoundResource[];
  exportPermissionClaims?: readonly Claim[];
  appliedPermissionClaims?: readonly ScopedClaim[];
  conditions?: readonly Condition[];
}

export interface ResourceSchema extends KubeObject {
  spec?: {
    group: string;
    names: Names;
    scope: string;
    versions: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[];
    conversion?: object;
  };
}

/** Conversion rules between the versions of the schema with the same name. */
export interface Conversion extends KubeObject {
  spec?: object;
}

export interface Names {
  readonly plural: string;
  readonly singular?: string;
  readonly kind: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
}

export interface EndpointSlice extends KubeObject {
  spec?: { readonly export?: { readonly path?: string; readonly name: string }; readonly partition?: string };
  status?: { endpoints?: readonly { readonly url: string }[]; shardSelector?: string; conditions?: readonly Condition[] };
}
