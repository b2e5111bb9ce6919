import type { Registration } from '../../registration.ts';
import { workspaceController } from './controller.ts';

/** Gives Workspaces their logical clusters, reports their phase, and ends both. */
export const registration: Registration = {
  name: 'workspace',
  account: 'workspace-controller',
  workspaces: 'all',
  watches: ['workspaces.tenancy.kcp.io', 'logicalclusters.core.kcp.io', 'shards.core.kcp.io'],
  make: workspaceController,
};
