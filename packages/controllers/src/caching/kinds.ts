import type { KindType } from '@capstan/controller';
import type { KubeObject, LabelSelectorObject } from '@capstan/machinery';
import type { Slice } from '../apis/endpoint-slices/reconcile.ts';
import type { Identity } from '../apis/exports/identity.ts';
import type { Condition } from '../kcp-conditions.ts';

export const cacheGroup = 'cache.kcp.io';
const version = 'v1alpha1';
export const cachedResourceType: KindType = {
  group: cacheGroup,
  version,
  resource: 'cachedresources',
  namespaced: false,
  kind: 'CachedResource',
};
export const cachedSliceType: KindType = {
  group: cacheGroup,
  version,
  resource: 'cachedresourceendpointslices',
  namespaced: false,
  kind: 'CachedResourceEndpointSlice',
};

export interface CachedResource extends KubeObject {
  spec?: {
    readonly group?: string;
    readonly version?: string;
    readonly resource: string;
    identity?: Identity;
    readonly labelSelector?: LabelSelectorObject;
  };
  status?: {
    identityHash?: string;
    phase?: 'Initializing' | 'Ready';
    resourceCounts?: { readonly cache: number; readonly local: number };
    conditions?: readonly Condition[];
  };
}

export interface CachedSlice extends Slice {
  spec?: { readonly cachedResource?: { readonly path?: string; readonly name: string }; readonly partition?: string };
}

/** The resource that a CachedResource publishes, as messages name it. */
export function printPublished({ spec }: CachedResource): string {
  return spec?.group ? `${spec.resource}.${spec.group}` : (spec?.resource ?? '');
}
