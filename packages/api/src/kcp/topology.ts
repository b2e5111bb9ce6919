import type { KubeObject, LabelSelectorObject } from '@capstan/machinery/objects';
import { clusterScoped } from '../kind.ts';

const v1alpha1 = clusterScoped('topology.kcp.io', 'v1alpha1');

export const partitionSetKind = v1alpha1('partitionsets', 'PartitionSet');
export const partitionKind = v1alpha1('partitions', 'Partition');

/** Selects shards. */
export interface Partition extends KubeObject {
  spec?: { readonly selector?: LabelSelectorObject };
}
