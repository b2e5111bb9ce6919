import { clusterOf, type Informer, isAlreadyExists, isNotFound, isTerminating, objectKey } from '@capstan/client';
import { type Controller, controller, ignoring, isControlledBy } from '@capstan/controller';
import { type Shard, shardType } from '../../tenancy/kinds.ts';
import { type Partition, type PartitionSet, partitionSetType, partitionType } from '../kinds.ts';
import { reconcilePartitionSet } from './reconcile.ts';

interface Copies {
  readonly sets: Informer<PartitionSet>;
  readonly partitions: Informer<Partition>;
  readonly shards: Informer<Shard>;
}

/** Watches PartitionSets, their Partitions, and the shards. */
export function partitionSetController({
  concurrency = 2,
}: {
  readonly concurrency?: number | undefined;
} = {}): Controller<PartitionSet, Copies> {
  return controller('partitionset')
    .for<PartitionSet>(partitionSetType)
    .reads(
      (informers): Copies => ({
        sets: informers.informer<PartitionSet>(partitionSetType),
        partitions: informers.informer<Partition>(partitionType),
        shards: informers.informer<Shard>(shardType),
      }),
    )
    .owns<Partition>(partitionType)
    .watches<Shard>(shardType, (_shard, { sets }) => sets.list().map(objectKey))
    .reconcile(
      ({ object, client, signal, copies }) => {
        const partitions = client.resource<Partition>(partitionType);
        return reconcilePartitionSet(object, {
          shards: () => copies.shards.list(),
          partitionsOf: (set) => copies.partitions.list().filter((one) => clusterOf(one) === clusterOf(set) && isControlledBy(one, set)),
          remove: (name) => ignoring(partitions.delete(name, { signal }), isNotFound),
          create: (partition) => ignoring(partitions.create(partition, { signal }), isAlreadyExists, isTerminating),
          updateStatus: (set) => client.resource<PartitionSet>(partitionSetType).updateStatus(set, { signal }),
          now: () => new Date(),
        });
      },
      { concurrency },
    );
}
