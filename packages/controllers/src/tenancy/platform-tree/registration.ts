import type { Registration } from '../../registration.ts';
import { platformTree } from './controller.ts';

/** Creates the first workspaces of an installation, once. */
export const registration: Registration = {
  name: 'platform-tree',
  account: 'workspace-controller',
  workspaces: 'all',
  watches: [],
  make: platformTree,
};
