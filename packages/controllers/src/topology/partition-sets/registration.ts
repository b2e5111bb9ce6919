import type { Registration } from '../../registration.ts';
import { partitionSetController } from './controller.ts';

/** Keeps the Partitions of PartitionSets in line with the shards. */
export const registration: Registration = {
  name: 'partitionset',
  account: 'partition-controller',
  workspaces: 'all',
  watches: ['partitionsets.topology.kcp.io', 'partitions.topology.kcp.io', 'shards.core.kcp.io'],
  make: partitionSetController,
};
