import { type Client, clusterOf, type ObjectKey } from '@capstan/client';
import { controller, done, type Result, type Runnable } from '@capstan/controller';
import { type SharingCaches, withCaches } from '../caches.ts';
import { type ApiExport, type EndpointSlice, exportType, sliceType } from '../kinds.ts';
import { whenShut } from '../shut.ts';
import { identityActions, unlessThere } from './identity.ts';
import { reconcileExport } from './reconcile.ts';

/** Gives every export an identity and a place where its view is told. */
export function exportController({ concurrency = 8 }: { readonly concurrency?: number | undefined } = {}): Runnable {
  return withCaches((caches) =>
    controller('apiexport')
      .for<ApiExport>(exportType)
      .watches<EndpointSlice>(sliceType, (slice) => [{ cluster: clusterOf(slice), name: slice.metadata.name ?? '' }])
      .reconcile(({ key, object, client, signal }) => (object === undefined ? done : reconcile(object, { key, client, signal, caches })), {
        concurrency,
        backoff: { base: 100, max: 30_000 },
      }),
  );
}

interface Parts {
  readonly key: ObjectKey;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly caches: () => SharingCaches;
}

async function reconcile(object: ApiExport, { key, client, signal, caches }: Parts): Promise<Result> {
  const exports = client.resource<ApiExport>(exportType);
  try {
    return await reconcileExport(object, {
      ...identityActions(client, signal),
      hasSlice: (name) => caches().slices.get({ cluster: key.cluster, name }) !== undefined,
      createSlice: (slice) => unlessThere(client.resource<EndpointSlice>(sliceType).create(slice, { signal })),
      update: (changed) => exports.update(changed, { signal }),
      updateStatus: (changed) => exports.updateStatus(changed, { signal }),
      now: () => new Date(),
    });
  } catch (error) {
    return whenShut(error);
  }
}
