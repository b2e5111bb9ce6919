import { clusterOf, isAlreadyExists, isNotFound, isTerminating, objectKey } from '@capstan/client';
import { controller, done, type Runnable, whenOutdated } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { informed } from '../../informed.ts';
import { type Shard, shardType } from '../../tenancy/kinds.ts';
import { type Partition, type PartitionSet, partitionSetType, partitionType } from '../kinds.ts';
import { wantedPartitions, withOutcome } from './reconcile.ts';

/** Keeps the Partitions of every PartitionSet as the shards are. */
export function partitionSetController({ concurrency = 2 }: { readonly concurrency?: number | undefined } = {}): Runnable {
  return informed((informers) =>
    controller('partitionset')
      .for<PartitionSet>(partitionSetType)
      .owns<Partition>(partitionType)
      .watches<Shard>(shardType, () => informers().informer(partitionSetType).list().map(objectKey))
      .reconcile(
        async ({ object: set, client, signal }) => {
          if (set === undefined || set.metadata.deletionTimestamp !== undefined) return done;
          const wanted = wantedPartitions(set, informers().informer<Shard>(shardType).list());
          const names = new Set(wanted.map(({ metadata }) => metadata.name));
          const there = informers()
            .informer<Partition>(partitionType)
            .list()
            .filter((one) => isOwnedBy(one, set));
          const partitions = client.resource<Partition>(partitionType);
          for (const { metadata } of there) {
            if (!names.has(metadata.name)) await partitions.delete(metadata.name!, { signal }).catch(unless(isNotFound));
            names.delete(metadata.name);
          }
          for (const partition of wanted) {
            if (names.has(partition.metadata.name)) await partitions.create(partition, { signal }).catch(unless(isMoot));
          }
          const changed = withOutcome(set, wanted.length, new Date());
          if (changed === undefined) return done;
          try {
            await client.resource<PartitionSet>(partitionSetType).updateStatus(changed, { signal });
          } catch (error) {
            return whenOutdated(error);
          }
          return done;
        },
        { concurrency },
      ),
  );
}

/** The partition came meanwhile, or its workspace goes. */
const isMoot = (error: unknown): boolean => isAlreadyExists(error) || isTerminating(error);

function isOwnedBy(partition: KubeObject, set: PartitionSet): boolean {
  if (clusterOf(partition) !== clusterOf(set)) return false;
  return (partition.metadata.ownerReferences ?? []).some(({ uid, controller: controls }) => controls === true && uid === set.metadata.uid);
}

function unless(isFine: (error: unknown) => boolean): (error: unknown) => void {
  return (error) => {
    if (!isFine(error)) throw error;
  };
}
