import type { Registration } from '../registration.ts';
import { accountTokenController } from './controller.ts';

/** Fills secrets that hold the token of a service account, and deletes those whose account is gone. */
export const registration: Registration = {
  name: 'account-tokens',
  account: 'account-token-controller',
  workspaces: 'all',
  watches: ['serviceaccounts', 'secrets'],
  make: accountTokenController,
};
