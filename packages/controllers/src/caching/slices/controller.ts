import { clusterOf } from '@capstan/client';
import { controller, done, type Runnable } from '@capstan/controller';
import { keysOf } from '../../apis/caches.ts';
import { keepSlice } from '../../apis/endpoint-slices/controller.ts';
import { naming, type Partition, withPlaces } from '../../apis/endpoint-slices/places.ts';
import type { SliceFacts } from '../../apis/endpoint-slices/reconcile.ts';
import { type ApiBinding, type ApiExport, bindingType, exportType, partitionType, shardType } from '../../apis/kinds.ts';
import { holds, lacks } from '../../kcp-conditions.ts';
import { type CachingCaches, withCachingCaches } from '../caches.ts';
import { type CachedResource, type CachedSlice, cachedResourceType, cachedSliceType } from '../kinds.ts';

/** Tells where the view of what is published is. */
export function cachedSliceController(): Runnable {
  return withPlaces((places) =>
    withCachingCaches((caches) =>
      controller('cachedresourceendpointslice')
        .for<CachedSlice>(cachedSliceType)
        .watches<CachedResource>(cachedResourceType, (resource) => keysOf(caches().slicesOf(resource)))
        .watches<ApiExport>(exportType, (object) => keysOf(caches().slicesFrom(clusterOf(object) ?? '')))
        .watches<ApiBinding>(bindingType, (binding) => keysOf(slicesAround(caches(), binding)))
        .watches(shardType, () => keysOf(caches().slices.list()))
        .watches<Partition>(partitionType, (partition) => keysOf(naming(caches().slices.list(), partition)))
        .reconcile(
          ({ object: slice, client, signal }) =>
            slice === undefined
              ? done
              : keepSlice(slice, { ...factsOf(slice, caches()), ...places().of(slice) }, { client, type: cachedSliceType, signal }),
          { concurrency: 4, backoff: { base: 100, max: 30_000 } },
        ),
    ),
  );
}

function slicesAround(caches: CachingCaches, binding: ApiBinding): CachedSlice[] {
  const found = caches.sharing.exportOf(binding);
  return found === undefined ? [] : caches.slicesFrom(clusterOf(found) ?? '');
}

function factsOf(slice: CachedSlice, caches: CachingCaches): Pick<SliceFacts, 'reference' | 'view'> {
  const { path = clusterOf(slice) ?? '', name = '' } = slice.spec?.cachedResource ?? {};
  const found = caches.resourceOf(slice);
  if (found === undefined) {
    const message = `Error getting CachedResource ${path}|${name}`;
    return { reference: lacks('ResourceValid', { reason: 'CachedResourceNotFound', message }), view: undefined };
  }
  const view = caches.isBound(found) ? `/services/replication/${clusterOf(found)}/${name}` : undefined;
  return { reference: holds('ResourceValid'), view };
}
