import {
  type ApiBinding,
  type ApiExport,
  apiBindingKind,
  apiExportKind,
  type CachedResource,
  type CachedResourceEndpointSlice,
  cachedResourceKind,
  cachedResourceSliceKind,
  holds,
  lacks,
  type Partition,
  partitionKind,
  shardKind,
} from '@capstan/api';
import { clusterOf } from '@capstan/client';
import { type Controller, controller, done } from '@capstan/controller';
import { keysOf } from '../../apis/caches.ts';
import { keepSlice } from '../../apis/endpoint-slices/controller.ts';
import { naming, Places } from '../../apis/endpoint-slices/places.ts';
import type { SliceFacts } from '../../apis/endpoint-slices/reconcile.ts';
import { CachingCaches } from '../caches.ts';

interface Copies {
  readonly caches: CachingCaches;
  readonly places: Places;
}

/** Watches endpoint slices, and everything that their URL depends on. */
export function cachedSliceController(): Controller<CachedResourceEndpointSlice, Copies> {
  return controller('cachedresourceendpointslice')
    .for<CachedResourceEndpointSlice>(cachedResourceSliceKind)
    .reads((informers): Copies => ({ caches: CachingCaches.of(informers), places: new Places(informers) }))
    .watches<CachedResource>(cachedResourceKind, (resource, { caches }) => keysOf(caches.slicesOf(resource)))
    .watches<ApiExport>(apiExportKind, (object, { caches }) => keysOf(caches.slicesFrom(clusterOf(object) ?? '')))
    .watches<ApiBinding>(apiBindingKind, (binding, { caches }) => keysOf(slicesAround(caches, binding)))
    .watches(shardKind, (_shard, { caches }) => keysOf(caches.slices.list()))
    .watches<Partition>(partitionKind, (partition, { caches }) => keysOf(naming(caches.slices.list(), partition)))
    .reconcile(
      ({ object: slice, client, signal, copies: { caches, places } }) =>
        slice === undefined
          ? done
          : keepSlice(slice, { ...factsOf(slice, caches), ...places.of(slice) }, { client, type: cachedResourceSliceKind, signal }),
      { concurrency: 4, backoff: { base: 100, max: 30_000 } },
    );
}

function slicesAround(caches: CachingCaches, binding: ApiBinding): CachedResourceEndpointSlice[] {
  const found = caches.sharing.exportOf(binding);
  return found === undefined ? [] : caches.slicesFrom(clusterOf(found) ?? '');
}

function factsOf(slice: CachedResourceEndpointSlice, caches: CachingCaches): Pick<SliceFacts, 'reference' | 'view'> {
  const { path = clusterOf(slice) ?? '', name = '' } = slice.spec?.cachedResource ?? {};
  const found = caches.resourceOf(slice);
  if (found === undefined) {
    const message = `Error getting CachedResource ${path}|${name}`;
    return { reference: lacks('ResourceValid', { reason: 'CachedResourceNotFound', message }), view: undefined };
  }
  const view = caches.isBound(found) ? `/services/replication/${clusterOf(found)}/${name}` : undefined;
  return { reference: holds('ResourceValid'), view };
}
