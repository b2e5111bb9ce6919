import type { Registration } from '../../registration.ts';
import { logicalClusterController } from './controller.ts';

/** Makes new logical clusters usable, and empties those that are being deleted. */
export const registration: Registration = {
  name: 'logical-cluster',
  account: 'workspace-controller',
  workspaces: 'all',
  watches: ['logicalclusters.core.kcp.io', 'workspaces.tenancy.kcp.io', 'shards.core.kcp.io'],
  make: logicalClusterController,
};
