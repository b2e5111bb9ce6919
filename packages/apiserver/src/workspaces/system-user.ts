import type { User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import { isPlatformAccount } from './authorizer.ts';

/** Whether a user acts for the platform itself: its administrators, and the accounts of its controllers. */
export function isSystem(user: User): boolean {
  return user.groups.includes(superuserGroup) || isPlatformAccount(user);
}
