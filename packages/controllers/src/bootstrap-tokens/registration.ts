import type { Registration } from '../registration.ts';
import { bootstrapTokenController } from './controller.ts';

/** Deletes bootstrap tokens that have expired. */
export const registration: Registration = {
  name: 'bootstrap-tokens',
  account: 'token-cleaner',
  workspaces: 'root',
  watches: ['secrets'],
  make: bootstrapTokenController,
};
