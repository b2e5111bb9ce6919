import type { Registration } from '../registration.ts';
import { identityLeaseController } from './controller.ts';

/** Deletes the leases of API servers that are gone. */
export const registration: Registration = {
  name: 'identity-leases',
  account: 'identity-lease-controller',
  workspaces: 'root',
  watches: ['leases.coordination.k8s.io'],
  make: identityLeaseController,
};
