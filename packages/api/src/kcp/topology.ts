import type { KubeObject, LabelSelectorObject } from '@capstan/machinery/objects';
import { clusterScoped } from '../kind.ts';
import type { KcpCondition } from './conditions.ts';

const v1alpha1 = clusterScoped('topology.kcp.io', 'v1alpha1');

export const partitionSetKind = v1alpha1<PartitionSet>('partitionsets', 'PartitionSet');
export const partitionKind = v1alpha1<Partition>('partitions', 'Partition');

/** Divides shards into partitions by the values of labels. */
export interface PartitionSet extends KubeObject {
  spec?: { readonly dimensions?: readonly string[]; readonly shardSelector?: LabelSelectorObject };
  status?: { readonly count?: number; readonly conditions?: readonly KcpCondition[] };
}

/** Selects shards. */
export interface Partition extends KubeObject {
  spec?: { readonly selector?: LabelSelectorObject };
}
