import type { Registration } from '../registration.ts';
import { QuotaController } from './controller.ts';

/** Counts the usage of every ResourceQuota. It also follows the kinds that some quota limits, from when one first does. */
export const registration: Registration = {
  name: 'resourcequota',
  account: 'resourcequota-controller',
  workspaces: 'all',
  watches: ['resourcequotas'],
  make: (settings) => new QuotaController(settings),
};
