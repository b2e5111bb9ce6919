import type { KubeObject } from '@capstan/machinery/objects';
import { clusterScoped } from '../kind.ts';
import type { KcpCondition } from './conditions.ts';

export const apisGroup = 'apis.kcp.io';
const v1alpha1 = clusterScoped(apisGroup, 'v1alpha1');
const v1alpha2 = clusterScoped(apisGroup, 'v1alpha2');

export const apiExportKind = v1alpha2('apiexports', 'APIExport');
export const apiBindingKind = v1alpha2('apibindings', 'APIBinding');
export const apiResourceSchemaKind = v1alpha1('apiresourceschemas', 'APIResourceSchema');
export const apiConversionKind = v1alpha1('apiconversions', 'APIConversion');
export const endpointSliceKind = v1alpha1('apiexportendpointslices', 'APIExportEndpointSlice');

/** The namespace of identity secrets that nobody placed elsewhere. */
export const identityNamespace = 'kcp-system';

/** Names the secret that holds the key of an export. Its owner is the provider of everything that is stored under the key's hash. */
export interface ExportIdentity {
  readonly secretRef?: { readonly namespace?: string; readonly name?: string };
}

export interface PermissionClaim {
  readonly group?: string;
  readonly resource: string;
  readonly identityHash?: string;
  readonly verbs: readonly string[];
  /** The objects that an export asks for where a workspace's type accepts the claim. All of them if absent. */
  readonly defaultSelector?: ClaimSelector;
}

export interface ClaimSelector {
  readonly matchAll?: boolean;
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly object[];
}

export interface ScopedClaim extends PermissionClaim {
  readonly selector: ClaimSelector;
}

/** A kind that an export offers. */
export interface ExportedResource {
  readonly group?: string;
  readonly name: string;
  readonly schema: string;
  readonly storage?: { readonly crd?: object; readonly virtual?: VirtualStorage };
}

/** Objects are not stored in the workspace that binds the resource, but read from what is referred to. */
export interface VirtualStorage {
  readonly reference: { readonly apiGroup?: string; readonly kind: string; readonly name: string };
  readonly identityHash: string;
}

export interface ApiExport extends KubeObject {
  spec?: {
    resources?: readonly ExportedResource[];
    identity?: ExportIdentity;
    permissionClaims?: readonly PermissionClaim[];
  };
  status?: { identityHash?: string; conditions?: readonly KcpCondition[] };
}

export interface BoundResource {
  readonly group: string;
  readonly resource: string;
  readonly schema: { readonly name: string; readonly UID: string; readonly identityHash: string };
  /** Absent for resources that are not stored in the workspace. */
  readonly storageVersions?: readonly string[];
}

export interface ApiBinding extends KubeObject {
  spec?: {
    reference?: { readonly export?: { readonly path?: string; readonly name: string } };
    permissionClaims?: readonly (ScopedClaim & { readonly state: 'Accepted' | 'Rejected' })[];
  };
  status?: ApiBindingStatus;
}

export interface ApiBindingStatus {
  phase?: 'Binding' | 'Bound';
  apiExportClusterName?: string;
  boundResources?: readonly BoundResource[];
  exportPermissionClaims?: readonly PermissionClaim[];
  appliedPermissionClaims?: readonly ScopedClaim[];
  conditions?: readonly KcpCondition[];
}

export interface ApiResourceSchema extends KubeObject {
  spec?: {
    group: string;
    names: ResourceNames;
    scope: string;
    versions: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[];
    conversion?: object;
  };
}

/** Conversion rules between the versions of the schema of the same name. */
export interface ApiConversion extends KubeObject {
  spec?: object;
}

export interface ResourceNames {
  readonly plural: string;
  readonly singular?: string;
  readonly kind: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
}

/** Lists the URLs at which a provider finds the objects of its consumers. */
export interface EndpointSlice extends KubeObject {
  spec?: { readonly partition?: string };
  status?: { endpoints?: readonly { readonly url: string }[]; shardSelector?: string; conditions?: readonly KcpCondition[] };
}

export interface ApiExportEndpointSlice extends EndpointSlice {
  spec?: { readonly export?: { readonly path?: string; readonly name: string }; readonly partition?: string };
}
