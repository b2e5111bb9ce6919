import { clusterOf } from '@capstan/client';
import { controller, done, type Result, type Runnable } from '@capstan/controller';
import { type SharingCaches, withCaches } from '../caches.ts';
import { type ApiExport, type EndpointSlice, exportType, sliceType } from '../kinds.ts';
import { whenShut } from '../shut.ts';
import { publishingActions, type Work } from './publishing.ts';
import { reconcileExport } from './reconcile.ts';

/** Gives every export an identity and a place where its view is told. */
export function exportController({ concurrency = 8 }: { readonly concurrency?: number | undefined } = {}): Runnable {
  return withCaches((caches) =>
    controller('apiexport')
      .for<ApiExport>(exportType)
      .watches<EndpointSlice>(sliceType, (slice) => [{ cluster: clusterOf(slice), name: slice.metadata.name ?? '' }])
      .reconcile(
        ({ key, object, client, signal }) => (object === undefined ? done : reconcile(object, { key, client, signal }, caches())),
        {
          concurrency,
          backoff: { base: 100, max: 30_000 },
        },
      ),
  );
}

async function reconcile(object: ApiExport, work: Work, { slices }: SharingCaches): Promise<Result> {
  try {
    return await reconcileExport(object, publishingActions(work, { type: exportType, sliceType, slices }));
  } catch (error) {
    return whenShut(error);
  }
}
