import {
  type ApiBinding,
  type ApiExport,
  type ApiExportEndpointSlice,
  apiBindingKind,
  apiExportKind,
  endpointSliceKind,
  holds,
  lacks,
  type Partition,
  partitionKind,
  shardKind,
} from '@capstan/api';
import { type Client, clusterOf, type ResourceType } from '@capstan/client';
import { type Controller, controller, done, type Result } from '@capstan/controller';
import { keysOf, SharingCaches } from '../caches.ts';
import { naming, Places } from './places.ts';
import { type Slice, type SliceFacts, withEndpoints } from './reconcile.ts';

interface Copies {
  readonly caches: SharingCaches;
  readonly places: Places;
}

/** Watches endpoint slices, and everything that their URL depends on. */
export function endpointSliceController(): Controller<ApiExportEndpointSlice, Copies> {
  return controller('apiexportendpointslice')
    .for<ApiExportEndpointSlice>(endpointSliceKind)
    .reads((informers): Copies => ({ caches: SharingCaches.of(informers), places: new Places(informers) }))
    .watches<ApiExport>(apiExportKind, (object, { caches }) => keysOf(caches.slicesOf(object)))
    .watches<ApiBinding>(apiBindingKind, (binding, { caches }) => keysOf(slicesAround(caches, binding)))
    .watches(shardKind, (_shard, { caches }) => keysOf(caches.slices.list()))
    .watches<Partition>(partitionKind, (partition, { caches }) => keysOf(naming(caches.slices.list(), partition)))
    .reconcile(
      ({ object: slice, client, signal, copies: { caches, places } }) =>
        slice === undefined
          ? done
          : keepSlice(slice, { ...factsOf(slice, caches), ...places.of(slice) }, { client, type: endpointSliceKind, signal }),
      { concurrency: 4, backoff: { base: 100, max: 30_000 } },
    );
}

/** Writes the status of a slice if it differs. */
export async function keepSlice<T extends Slice>(
  slice: T,
  facts: SliceFacts,
  { client, type, signal }: { client: Client; type: ResourceType; signal: AbortSignal },
): Promise<Result> {
  const changed = withEndpoints(slice, facts, new Date());
  if (changed !== slice) await client.resource<T>(type).updateStatus(changed, { signal });
  return done;
}

function slicesAround(caches: SharingCaches, binding: ApiBinding): ApiExportEndpointSlice[] {
  const found = exportOf(caches, binding.spec?.reference?.export, clusterOf(binding));
  return found === undefined ? [] : caches.slicesOf(found);
}

function exportOf(
  caches: SharingCaches,
  reference: { path?: string; name: string } | undefined,
  cluster: string | undefined,
): ApiExport | undefined {
  return reference && caches.exportAt(reference, cluster ?? '');
}

function factsOf(slice: ApiExportEndpointSlice, caches: SharingCaches): Pick<SliceFacts, 'reference' | 'view'> {
  const { path = clusterOf(slice) ?? '', name = '' } = slice.spec?.export ?? {};
  const found = exportOf(caches, slice.spec?.export, clusterOf(slice));
  if (found === undefined) {
    const message = `Error getting APIExport ${path}|${name}`;
    return { reference: lacks('APIExportValid', { reason: 'APIExportNotFound', message }), view: undefined };
  }
  const view = caches.isBound(found) ? `/services/apiexport/${clusterOf(found)}/${name}` : undefined;
  return { reference: holds('APIExportValid'), view };
}
