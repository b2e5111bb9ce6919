import type { KindType } from '@capstan/controller';
import type { KubeObject, LabelSelectorObject } from '@capstan/machinery';
import type { Condition } from '../kcp-conditions.ts';

const topology = { group: 'topology.kcp.io', version: 'v1alpha1', namespaced: false } as const;

export const partitionSetType: KindType = { ...topology, resource: 'partitionsets', kind: 'PartitionSet' };
export const partitionType: KindType = { ...topology, resource: 'partitions', kind: 'Partition' };

export interface PartitionSet extends KubeObject {
  spec?: { readonly dimensions?: readonly string[]; readonly shardSelector?: LabelSelectorObject };
  status?: { readonly count?: number; readonly conditions?: readonly Condition[] };
}

export interface Partition extends KubeObject {
  spec?: { readonly selector?: LabelSelectorObject };
}
