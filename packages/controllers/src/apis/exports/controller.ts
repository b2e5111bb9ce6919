import { type ApiExport, type ApiExportEndpointSlice, apiExportKind, endpointSliceKind } from '@capstan/api';
import { clusterOf } from '@capstan/client';
import { type Controller, controller, done } from '@capstan/controller';
import { SharingCaches } from '../caches.ts';
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
    .for<ApiExport>(apiExportKind)
    .reads(SharingCaches.of)
    .watches<ApiExportEndpointSlice>(endpointSliceKind, (slice) => [{ cluster: clusterOf(slice), name: slice.metadata.name ?? '' }])
    .reconcile(
      ({ key, object, client, signal, copies: { slices } }) =>
        object === undefined
          ? done
          : unlessShut(
              reconcileExport(
                object,
                publishingActions({ key, client, signal }, { type: apiExportKind, sliceType: endpointSliceKind, slices }),
              ),
            ),
      { concurrency, backoff: { base: 100, max: 30_000 } },
    );
}
