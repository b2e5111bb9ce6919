import { status } from '@capstan/machinery';
import { clusterExtra } from '../authn/service-account.ts';
import type { User } from '../authn/user.ts';
import { superuserGroup } from '../authz/authorizer.ts';
import { scopesExtra } from '../authz/effective-users.ts';
import { adminGroup, bootstrapperGroup, externalLogicalClusterAdminGroup, logicalClusterAdminGroup } from './policy.ts';

/** Groups that mean something in every workspace, and how much. Nobody becomes more than they are by what one workspace lets them impersonate. */
const ranks: ReadonlyMap<string, number> = new Map([
  [superuserGroup, 2],
  [logicalClusterAdminGroup, 1],
  [externalLogicalClusterAdminGroup, 1],
  [bootstrapperGroup, 1],
  [adminGroup, 1],
]);

/** Extras under these say who somebody is to the platform. */
const reservedExtra = /(?:^|\.)kcp\.io(?:\/|$)/;

const rankOf = (groups: readonly string[]): number => Math.max(0, ...groups.map((group) => ranks.get(group) ?? 0));

/** Refuses what no workspace can permit: to become somebody who is more, everywhere, than the asker is. */
export function checkImpersonation(sender: User, wanted: User, cluster: string): void {
  if (sender === wanted) return;
  const rank = rankOf(sender.groups);
  if (rankOf(wanted.groups) > rank || (rank === 0 && claimsIdentity(wanted, cluster))) {
    throw status.forbidden({ group: '', resource: '' }, '', 'impersonation is not allowed for the requestor');
  }
}

/** That a service account is of this workspace is what permission was asked for. */
function claimsIdentity({ extra = {} }: User, cluster: string): boolean {
  return Object.entries(extra).some(
    ([key, values]) => reservedExtra.test(key) && !(key === clusterExtra && values.length === 1 && values[0] === cluster),
  );
}

/** The impersonated user, who is nobody in particular outside of the workspace that permitted it. */
export function scopedTo(cluster: string, sender: User, user: User): User {
  if (sender === user || rankOf(sender.groups) > 1) return user;
  const before = user.extra?.[scopesExtra] ?? [];
  return { ...user, extra: { ...user.extra, [scopesExtra]: [...before, `cluster:${cluster}`] } };
}
