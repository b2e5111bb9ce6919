import { clusterOf, type Informer, isConflict, isNotFound } from '@capstan/client';
import { controller, done, type Result, type Runnable, requeueAfter } from '@capstan/controller';
import { everything, type KubeObject, type LabelSelector, type LabelSelectorObject, selectorOfObject } from '@capstan/machinery';
import { keysOf, type SharingCaches, withCaches } from '../caches.ts';
import {
  type ApiBinding,
  type ApiExport,
  bindingType,
  type EndpointSlice,
  exportType,
  partitionType,
  shardType,
  sliceType,
} from '../kinds.ts';
import { type SliceFacts, withEndpoints } from './reconcile.ts';

interface Shard extends KubeObject {
  spec?: { readonly virtualWorkspaceURL?: string };
}

interface Partition extends KubeObject {
  spec?: { readonly selector?: LabelSelectorObject };
}

/** Tells providers where the view of their export is. */
export function endpointSliceController(): Runnable {
  let shards: Informer<Shard>;
  let partitions: Informer<Partition>;
  const made = withCaches((caches) =>
    controller('apiexportendpointslice')
      .for<EndpointSlice>(sliceType)
      .watches<ApiExport>(exportType, (object) => keysOf(caches().slicesOf(object)))
      .watches<ApiBinding>(bindingType, (binding) => keysOf(slicesAround(caches(), binding)))
      .watches<Shard>(shardType, () => keysOf(caches().slices.list()))
      .watches<Partition>(partitionType, (partition) => keysOf(naming(caches(), partition)))
      .reconcile(
        async ({ object: slice, client, signal }): Promise<Result> => {
          if (slice === undefined) return done;
          const changed = withEndpoints(slice, factsOf(slice, caches(), { shards, partitions }), new Date());
          if (changed === slice) return done;
          try {
            await client.resource<EndpointSlice>(sliceType).updateStatus(changed, { signal });
          } catch (error) {
            if (isConflict(error)) return requeueAfter(50);
            if (!isNotFound(error)) throw error;
          }
          return done;
        },
        { concurrency: 4, backoff: { base: 100, max: 30_000 } },
      ),
  );
  return {
    ...made,
    prepare(informers) {
      shards = informers.informer<Shard>(shardType);
      partitions = informers.informer<Partition>(partitionType);
      made.prepare?.(informers);
    },
  };
}

function slicesAround(caches: SharingCaches, binding: ApiBinding): EndpointSlice[] {
  const found = exportOf(caches, binding.spec?.reference?.export, clusterOf(binding));
  return found === undefined ? [] : caches.slicesOf(found);
}

function naming(caches: SharingCaches, partition: Partition): EndpointSlice[] {
  return caches.slices
    .list()
    .filter((slice) => clusterOf(slice) === clusterOf(partition) && slice.spec?.partition === partition.metadata.name);
}

function exportOf(
  caches: SharingCaches,
  reference: { path?: string; name: string } | undefined,
  cluster: string | undefined,
): ApiExport | undefined {
  return reference && caches.exportAt(reference, cluster ?? '');
}

function factsOf(
  slice: EndpointSlice,
  caches: SharingCaches,
  { shards, partitions }: { shards: Informer<Shard>; partitions: Informer<Partition> },
): SliceFacts {
  const found = exportOf(caches, slice.spec?.export, clusterOf(slice));
  // Shards may be named before they are there; this one is.
  const shard = shards.list().find(({ metadata }) => metadata.name === 'root');
  const url = shard?.spec?.virtualWorkspaceURL;
  return {
    exportCluster: found && clusterOf(found),
    isBound: found !== undefined && caches.isBound(found),
    shard: shard && url ? { url, labels: shard.metadata.labels ?? {} } : undefined,
    partition: partitionOf(slice, partitions),
  };
}

function partitionOf({ metadata, spec }: EndpointSlice, partitions: Informer<Partition>): LabelSelector | undefined {
  if (!spec?.partition) return everything;
  const found = partitions.get({ cluster: clusterOf({ metadata } as KubeObject), name: spec.partition });
  if (found === undefined) return undefined;
  return found.spec?.selector === undefined ? everything : selectorOfObject(found.spec.selector);
}
