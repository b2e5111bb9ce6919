import { type Partition, type PartitionSet, partitionKind, partitionSetKind, type Shard, shardKind } from '@capstan/api';
import { clusterOf, type Informer, isAlreadyExists, isNotFound, isTerminating, objectKey } from '@capstan/client';
import { type Controller, controller, ignoring, isControlledBy } from '@capstan/controller';
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
    .for<PartitionSet>(partitionSetKind)
    .reads(
      (informers): Copies => ({
        sets: informers.informer<PartitionSet>(partitionSetKind),
        partitions: informers.informer<Partition>(partitionKind),
        shards: informers.informer<Shard>(shardKind),
      }),
    )
    .owns<Partition>(partitionKind)
    .watches<Shard>(shardKind, (_shard, { sets }) => sets.list().map(objectKey))
    .reconcile(
      ({ object, client, signal, copies }) => {
        const partitions = client.resource<Partition>(partitionKind);
        return reconcilePartitionSet(object, {
          shards: () => copies.shards.list(),
          partitionsOf: (set) => copies.partitions.list().filter((one) => clusterOf(one) === clusterOf(set) && isControlledBy(one, set)),
          remove: (name) => ignoring(partitions.delete(name, { signal }), isNotFound),
          create: (partition) => ignoring(partitions.create(partition, { signal }), isAlreadyExists, isTerminating),
          updateStatus: (set) => client.resource<PartitionSet>(partitionSetKind).updateStatus(set, { signal }),
          now: () => new Date(),
        });
      },
      { concurrency },
    );
}
