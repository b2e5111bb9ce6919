import type { Partition, Shard } from '@capstan/api';
import { partitionKind, shardKind } from '@capstan/api';
import { clusterOf, type Informer, type InformerFactory } from '@capstan/client';
import { everything, type KubeObject, type LabelSelector, selectorOfObject } from '@capstan/machinery';
import type { Slice, SliceFacts } from './reconcile.ts';

/** The shards that serve views, and the partitions that select them. */
export class Places {
  readonly #shards: Informer<Shard>;
  readonly #partitions: Informer<Partition>;

  constructor(informers: InformerFactory) {
    this.#shards = informers.informer<Shard>(shardKind);
    this.#partitions = informers.informer<Partition>(partitionKind);
  }

  of({ metadata, spec }: Slice): Pick<SliceFacts, 'shard' | 'partition'> {
    // Other Shard objects may exist before their shard runs; this one runs.
    const shard = this.#shards.list().find((one) => one.metadata.name === 'root');
    const url = shard?.spec?.virtualWorkspaceURL;
    return {
      shard: shard && url ? { url, labels: shard.metadata.labels ?? {} } : undefined,
      partition: spec?.partition ? this.#selector(clusterOf({ metadata } as KubeObject), spec.partition) : everything,
    };
  }

  #selector(cluster: string | undefined, name: string): LabelSelector | undefined {
    const found = this.#partitions.get({ cluster, name });
    if (found === undefined) return undefined;
    return found.spec?.selector === undefined ? everything : selectorOfObject(found.spec.selector);
  }
}

/** The slices that name a partition. */
export function naming<T extends Slice>(slices: readonly T[], partition: Partition): T[] {
  return slices.filter((slice) => clusterOf(slice) === clusterOf(partition) && slice.spec?.partition === partition.metadata.name);
}
