import type { ClusterId, User } from '@capstan/api';
import { platformOwnersGroup, superuserGroup } from '@capstan/api';
import { status } from '@capstan/machinery';
import { clusterExtra, homeOf } from '../authn/service-account.ts';
import { parseWarrant, scopesExtra, warrantsExtra } from '../authz/effective-users.ts';
import { bootstrapperGroup, externalLogicalClusterAdminGroup, logicalClusterAdminGroup } from './policy.ts';

/** Ranks the groups that have rights in every workspace. Impersonation permitted by one workspace must not raise a user's rank. */
const ranks: ReadonlyMap<string, number> = new Map([
  [superuserGroup, 2],
  [logicalClusterAdminGroup, 1],
  [externalLogicalClusterAdminGroup, 1],
  [bootstrapperGroup, 1],
  [platformOwnersGroup, 1],
]);

/** Extras with these keys identify users to the platform. */
const reservedExtra = /(?:^|\.)kcp\.io(?:\/|$)/;

const rankOf = (groups: readonly string[]): number => Math.max(0, ...groups.map((group) => ranks.get(group) ?? 0));

/** Rejects impersonation of users with more rights across workspaces than the sender, which no workspace can permit. */
export function checkImpersonation(sender: User, wanted: User, cluster: ClusterId): void {
  if (sender === wanted) return;
  const rank = rankOf(sender.groups);
  if (rankOf(wanted.groups) > rank || (rank === 0 && claimsIdentity(wanted, cluster))) {
    throw status.forbidden({ group: '', resource: '' }, '', 'impersonation is not allowed for the requestor');
  }
}

/** Scopes only remove rights, and a warrant adds another user to check; users cannot set any other reserved extra. */
function claimsIdentity({ extra = {} }: User, cluster: ClusterId): boolean {
  return Object.entries(extra).some(([key, values]) => {
    if (!reservedExtra.test(key) || key === scopesExtra) return false;
    if (key === warrantsExtra) return values.some((text) => isTooMuch(parseWarrant(text), cluster));
    // That a service account belongs to this workspace is implied by the permission to impersonate it.
    return !(key === clusterExtra && values.length === 1 && values[0] === cluster);
  });
}

function isTooMuch(holder: User | undefined, cluster: ClusterId): boolean {
  if (holder === undefined) return true;
  const home = homeOf(holder);
  return rankOf(holder.groups) > 0 || (home !== undefined && home !== cluster) || claimsIdentity(holder, cluster);
}

/** The impersonated user and the users of its warrants, limited to the workspace that permitted the impersonation. */
export function scopedTo(cluster: ClusterId, sender: User, user: User): User {
  return sender === user || rankOf(sender.groups) > 1 ? user : scoped(user, cluster);
}

function scoped(user: User, cluster: ClusterId): User {
  const extra: Record<string, readonly string[]> = {
    ...user.extra,
    [scopesExtra]: [...(user.extra?.[scopesExtra] ?? []), `cluster:${cluster}`],
  };
  const warrants = user.extra?.[warrantsExtra];
  if (warrants !== undefined) extra[warrantsExtra] = warrants.map((text) => scopedWarrant(text, cluster));
  return { ...user, extra };
}

function scopedWarrant(text: string, cluster: ClusterId): string {
  const holder = parseWarrant(text);
  if (holder === undefined) return text;
  const { name, ...rest } = scoped(holder, cluster);
  return JSON.stringify({ user: name, ...rest });
}
