import type { Registration } from '../../registration.ts';
import { workspaceTypeController } from './controller.ts';

/** Writes the URLs at which initializers and terminators find the workspaces of a type. */
export const registration: Registration = {
  name: 'workspace-type',
  account: 'workspace-controller',
  workspaces: 'all',
  watches: ['workspacetypes.tenancy.kcp.io', 'shards.core.kcp.io'],
  make: workspaceTypeController,
};
