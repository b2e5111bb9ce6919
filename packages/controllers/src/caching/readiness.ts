import { type CachedResource, cachedResourceSliceKind, cacheGroup, type ExportedResource, isTrue } from '@capstan/api';
import { type Change, clusterOf } from '@capstan/client';
import { sameJson } from '@capstan/machinery';
import type { CachingCaches } from './caches.ts';
import { printPublished } from './published.ts';

/** Whether a resource with virtual storage can be read, and why not: something is wrong, or it is not available yet. */
export type Readiness = { readonly type: 'ready' } | { readonly type: 'broken' | 'waiting'; readonly why: string };

const broken = (why: string): Readiness => ({ type: 'broken', why });

/** Follows the reference of a virtual storage as the server does when it is read. `cluster` is the id of the export's workspace. */
export function readinessOf(caches: CachingCaches, cluster: string, { group, name, storage }: ExportedResource): Readiness {
  const { reference, identityHash } = storage!.virtual!;
  if (reference.apiGroup !== cacheGroup || reference.kind !== cachedResourceSliceKind.kind)
    return broken(
      `virtual storage refers to ${reference.kind}.${reference.apiGroup ?? ''}, expected ${cachedResourceSliceKind.kind}.${cacheGroup}`,
    );
  const slice = caches.slices.get({ cluster, name: reference.name });
  if (slice === undefined) return broken(`${cachedResourceSliceKind.kind} ${cluster}|${reference.name} not found`);
  const { path = cluster, name: referred = '' } = slice.spec?.cachedResource ?? {};
  const place = `${path}|${referred}`;
  const found = caches.resourceOf(slice);
  if (found === undefined) return broken(`CachedResource ${place} not found`);
  if (clusterOf(found) !== cluster) return broken(`CachedResource ${place} is not in the workspace of the APIExport`);
  if (found.spec?.resource !== name || (found.spec.group ?? '') !== group)
    return broken(`CachedResource ${place} publishes ${printPublished(found)}`);
  const failing = failureOf(found);
  if (failing !== undefined) return broken(`CachedResource ${place} is not ready: ${failing}`);
  if (found.status?.identityHash !== identityHash)
    return broken(`the identity hash of CachedResource ${place} is not the one that the APIExport names`);
  if ((slice.status?.endpoints ?? []).length === 0)
    return { type: 'waiting', why: `Waiting for ${cachedResourceSliceKind.kind} ${cluster}|${reference.name} to have an endpoint` };
  return { type: 'ready' };
}

/** Whether a change matters to readers. Most changes are only of the number of objects. */
export function publishesOtherwise(change: Change<CachedResource>): boolean {
  if (change.type !== 'updated') return true;
  const what = ({ metadata, spec, status }: CachedResource): unknown => [
    metadata.deletionTimestamp,
    spec,
    status?.identityHash,
    status?.conditions,
  ];
  return !sameJson(what(change.old), what(change.object));
}

function failureOf({ metadata, status }: CachedResource): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  const conditions = status?.conditions ?? [];
  const failing = conditions.find((one) => one.status !== 'True');
  if (failing !== undefined) return failing.message ?? failing.type;
  return isTrue(conditions, 'ReplicationStarted') ? undefined : 'it is new';
}
