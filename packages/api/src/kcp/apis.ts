import type { JsonObject, KubeObject, LabelSelectorObject } from '@capstan/machinery/objects';
import { clusterScoped } from '../kind.ts';
import type { KcpCondition } from './conditions.ts';

export const apisGroup = 'apis.kcp.io';
const v1alpha1 = clusterScoped(apisGroup, 'v1alpha1');
const v1alpha2 = clusterScoped(apisGroup, 'v1alpha2');

export const apiExportKind = v1alpha2<ApiExport>('apiexports', 'APIExport');
export const apiBindingKind = v1alpha2<ApiBinding>('apibindings', 'APIBinding');
export const apiResourceSchemaKind = v1alpha1<ApiResourceSchema>('apiresourceschemas', 'APIResourceSchema');
export const apiConversionKind = v1alpha1<ApiConversion>('apiconversions', 'APIConversion');
export const endpointSliceKind = v1alpha1<ApiExportEndpointSlice>('apiexportendpointslices', 'APIExportEndpointSlice');

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

export interface ClaimSelector extends LabelSelectorObject {
  readonly matchAll?: boolean;
}

export interface ScopedClaim extends PermissionClaim {
  readonly selector: ClaimSelector;
}

/** A kind that an export offers. */
export interface ExportedResource {
  /** Empty for the core group. */
  readonly group: string;
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
    /** Consumers may do no more with the kinds than the roles of the provider's workspace allow them. */
    /** Explicitly undefined where a write must remove it. */
    maximalPermissionPolicy?: { readonly local?: object } | undefined;
  };
  status?: { identityHash?: string; virtualWorkspaces?: readonly { readonly url: string }[]; conditions?: readonly KcpCondition[] };
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
    versions: readonly SchemaVersion[];
    nameValidation?: string;
    conversion?: object;
  };
}

export interface SchemaVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: JsonObject;
  readonly subresources?: object;
  readonly additionalPrinterColumns?: readonly object[];
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
}

/** Conversion rules between the versions of the schema of the same name. */
export interface ApiConversion extends KubeObject {
  spec?: { conversions: readonly VersionConversion[] };
}

export interface VersionConversion {
  readonly from: string;
  readonly to: string;
  readonly rules: readonly ConversionRule[];
  /** Fields that the conversion would lose. */
  readonly preserve?: readonly string[];
}

export interface ConversionRule {
  readonly field: string;
  readonly destination: string;
  /** An expression in CEL; the value is copied if absent. */
  readonly transformation?: string;
}

export interface ResourceNames {
  readonly plural: string;
  readonly singular?: string;
  readonly kind: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** Lists the URLs at which a provider finds the objects of its consumers. */
export interface EndpointSlice extends KubeObject {
  spec?: { readonly partition?: string };
  status?: { endpoints?: readonly { readonly url: string }[]; shardSelector?: string; conditions?: readonly KcpCondition[] };
}

export interface ApiExportEndpointSlice extends EndpointSlice {
  spec?: { readonly export?: { readonly path?: string; readonly name: string }; readonly partition?: string };
}
