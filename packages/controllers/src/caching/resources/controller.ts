import {
  type ApiBinding,
  apiBindingKind,
  type CachedResource,
  type CachedResourceEndpointSlice,
  cachedResourceKind,
  cachedResourceSliceKind,
} from '@capstan/api';
import { ApiError, type Client, clusterOf, type ObjectKey } from '@capstan/client';
import { type Controller, controller, done } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { keysOf } from '../../apis/caches.ts';
import { publishingActions } from '../../apis/exports/publishing.ts';
import { definitionType } from '../../apis/kinds.ts';
import { unlessShut } from '../../apis/shut.ts';
import { CachingCaches } from '../caches.ts';
import { reconcileCachedResource, type ServedKind } from './reconcile.ts';

/** Watches CachedResources, and everything that decides whether their kind is served. */
export function cachedResourceController(): Controller<CachedResource, CachingCaches> {
  return controller('cachedresource')
    .for<CachedResource>(cachedResourceKind)
    .reads(CachingCaches.of)
    .watches<CachedResourceEndpointSlice>(cachedResourceSliceKind, (slice) => [
      { cluster: clusterOf(slice), name: slice.metadata.name ?? '' },
    ])
    .watches(definitionType, beside, { metadataOnly: true })
    .watches<ApiBinding>(apiBindingKind, beside)
    .reconcile(
      ({ key, object, client, signal, copies: { slices } }) => {
        if (object === undefined) return done;
        const types = { type: cachedResourceKind, sliceType: cachedResourceSliceKind, slices };
        return unlessShut(
          reconcileCachedResource(object, {
            ...publishingActions<CachedResource, CachedResourceEndpointSlice>({ key, client, signal }, types),
            getKind: (kind) => servedKind(client, kind, signal),
          }),
        );
      },
      { concurrency: 4, backoff: { base: 100, max: 30_000 } },
    );
}

/** The CachedResources in the workspace of an object. */
const beside = (object: KubeObject, caches: CachingCaches): ObjectKey[] => keysOf(caches.in(clusterOf(object) ?? ''));

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
