import { clusterOf } from '@capstan/client';
import { type Controller, controller, done } from '@capstan/controller';
import { SharingCaches } from '../caches.ts';
import { type ApiExport, type EndpointSlice, exportType, sliceType } from '../kinds.ts';
import { unlessShut } from '../shut.ts';
import { publishingActions } from './publishing.ts';
import { reconcileExport } from './reconcile.ts';

/** Watches APIExports and their endpoint slices. */
export function exportController({
  concurrency = 8,
}: {
  readonly concurrency?: number | undefined;
} = {}): Controller<ApiExport, SharingCaches> {
  return controller('apiexport')
    .for<ApiExport>(exportType)
    .reads(SharingCaches.of)
    .watches<EndpointSlice>(sliceType, (slice) => [{ cluster: clusterOf(slice), name: slice.metadata.name ?? '' }])
    .reconcile(
      ({ key, object, client, signal, copies: { slices } }) =>
        object === undefined
          ? done
          : unlessShut(reconcileExport(object, publishingActions({ key, client, signal }, { type: exportType, sliceType, slices }))),
      { concurrency, backoff: { base: 100, max: 30_000 } },
    );
}
