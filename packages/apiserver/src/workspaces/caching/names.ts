import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, textOf } from '../../kinds/workloads/reading.ts';

export const cacheGroup = 'cache.kcp.io';
export const cachedResources = { group: cacheGroup, resource: 'cachedresources' } as const;
export const cachedResourceSlices = { group: cacheGroup, resource: 'cachedresourceendpointslices' } as const;
/** What virtual storage refers to. */
export const sliceKind = 'CachedResourceEndpointSlice';

/** A kind in one version. */
export interface PublishedKind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** What a CachedResource publishes. */
export function publishedBy({ spec }: KubeObject): PublishedKind {
  const { group, version, resource } = fieldsOf(spec);
  return { group: textOf(group), version: textOf(version), resource: textOf(resource) };
}
