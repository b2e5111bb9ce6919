import { cachedResourceKind, cachedResourceSliceKind, groupResource } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, textOf } from '@capstan/machinery';

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
export function publishedBy({ spec }: KubeObject): PublishedKind {
  const { group, version, resource } = fieldsOf(spec);
  return { group: textOf(group), version: textOf(version), resource: textOf(resource) };
}
