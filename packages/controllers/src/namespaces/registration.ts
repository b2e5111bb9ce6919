import type { Registration } from '../registration.ts';
import { namespaceController } from './controller.ts';

/** Empties namespaces that are being deleted. */
export const registration: Registration = {
  name: 'namespace',
  account: 'namespace-controller',
  workspaces: 'all',
  watches: ['namespaces'],
  make: namespaceController,
};
