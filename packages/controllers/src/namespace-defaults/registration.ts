import type { Registration } from '../registration.ts';
import { namespaceDefaultsController } from './controller.ts';

/** Keeps the default service account and the root certificate authority in every namespace. */
export const registration: Registration = {
  name: 'namespace-defaults',
  account: 'namespace-defaults-controller',
  workspaces: 'all',
  watches: ['namespaces', 'serviceaccounts', 'configmaps'],
  make: namespaceDefaultsController,
};
