import { type CachedResource, cachedResourceKind, cachedResourceSliceKind, groupResource } from '@capstan/api';

export const cachedResources = groupResource(cachedResourceKind);
export const cachedResourceSlices = groupResource(cachedResourceSliceKind);
/** The kind that virtual storage refers to. */
export const sliceKind = 'CachedResourceEndpointSlice';

/** A kind in one version. */
export interface PublishedKind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** The kind that a CachedResource publishes. */
export function publishedBy({ spec }: CachedResource): PublishedKind {
  return { group: spec?.group ?? '', version: spec?.version ?? '', resource: spec?.resource ?? '' };
}
