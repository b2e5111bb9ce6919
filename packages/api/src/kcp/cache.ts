import type { KubeObject, LabelSelectorObject } from '@capstan/machinery/objects';
import { clusterScoped } from '../kind.ts';
import type { EndpointSlice, ExportIdentity } from './apis.ts';
import type { KcpCondition } from './conditions.ts';

export const cacheGroup = 'cache.kcp.io';
const v1alpha1 = clusterScoped(cacheGroup, 'v1alpha1');

export const cachedResourceKind = v1alpha1<CachedResource>('cachedresources', 'CachedResource');
export const cachedResourceSliceKind = v1alpha1<CachedResourceEndpointSlice>('cachedresourceendpointslices', 'CachedResourceEndpointSlice');

/** Publishes objects of a kind to every workspace that binds them. */
export interface CachedResource extends KubeObject {
  spec?: {
    readonly group?: string;
    readonly version?: string;
    readonly resource: string;
    identity?: ExportIdentity;
    readonly labelSelector?: LabelSelectorObject;
  };
  status?: {
    identityHash?: string;
    phase?: 'Initializing' | 'Ready';
    resourceCounts?: { readonly cache: number; readonly local: number };
    conditions?: readonly KcpCondition[];
  };
}

export interface CachedResourceEndpointSlice extends EndpointSlice {
  spec?: { readonly cachedResource?: { readonly path?: string; readonly name: string }; readonly partition?: string };
}
