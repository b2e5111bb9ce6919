import { homeOf, parseServiceAccountName } from '../authn/service-account.ts';
import type { User } from '../authn/user.ts';
import { superuserGroup } from '../authz/authorizer.ts';
import { rootCluster } from './names.ts';

/** Whether a user acts for the platform itself: its administrators, and the accounts of its controllers. Tenants' accounts of the same name are at home elsewhere. */
export function isSystem(user: User): boolean {
  if (user.groups.includes(superuserGroup)) return true;
  return homeOf(user) === rootCluster && parseServiceAccountName(user.name)?.namespace === 'kube-system';
}
