import { ApiError, type Client, clusterOf, type ObjectKey } from '@capstan/client';
import { controller, done, type Result, type Runnable } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { keysOf } from '../../apis/caches.ts';
import { publishingActions, type Work } from '../../apis/exports/publishing.ts';
import { type ApiBinding, bindingType, definitionType } from '../../apis/kinds.ts';
import { whenShut } from '../../apis/shut.ts';
import { type CachingCaches, withCachingCaches } from '../caches.ts';
import { type CachedResource, type CachedSlice, cachedResourceType, cachedSliceType } from '../kinds.ts';
import { reconcileCachedResource, type ServedKind } from './reconcile.ts';

/** Gives what is published an identity, a place where its view is told, and says whether it can be. */
export function cachedResourceController(): Runnable {
  return withCachingCaches((caches) => {
    const beside = (object: KubeObject): ObjectKey[] => keysOf(caches().in(clusterOf(object) ?? ''));
    return controller('cachedresource')
      .for<CachedResource>(cachedResourceType)
      .watches<CachedSlice>(cachedSliceType, (slice) => [{ cluster: clusterOf(slice), name: slice.metadata.name ?? '' }])
      .watches(definitionType, beside, { metadataOnly: true })
      .watches<ApiBinding>(bindingType, beside)
      .reconcile(
        ({ key, object, client, signal }) => (object === undefined ? done : reconcile(object, { key, client, signal }, caches())),
        {
          concurrency: 4,
          backoff: { base: 100, max: 30_000 },
        },
      );
  });
}

async function reconcile(object: CachedResource, work: Work, { slices }: CachingCaches): Promise<Result> {
  try {
    return await reconcileCachedResource(object, {
      ...publishingActions(work, { type: cachedResourceType, sliceType: cachedSliceType, slices }),
      getKind: (kind) => servedKind(work.client, kind, work.signal),
    });
  } catch (error) {
    return whenShut(error);
  }
}

interface Discovered {
  readonly resources: readonly (ServedKind & { readonly name: string })[];
}

async function servedKind(
  client: Client,
  { group, version, resource }: { group: string; version: string; resource: string },
  signal: AbortSignal,
): Promise<ServedKind | undefined> {
  if (version === '') return undefined;
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  try {
    const { resources } = await client.json<Discovered>({ method: 'GET', path, headers: { accept: 'application/json' }, signal });
    return resources.find(({ name }) => name === resource);
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return undefined;
    throw error;
  }
}
