import type { User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import { status } from '@capstan/machinery';
import { clusterExtra, homeOf } from '../authn/service-account.ts';
import { parseWarrant, scopesExtra, warrantsExtra } from '../authz/effective-users.ts';
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

/** Scopes take rights away, and a warrant is another user to become; whatever else the platform says about users is not for others to say. */
function claimsIdentity({ extra = {} }: User, cluster: string): boolean {
  return Object.entries(extra).some(([key, values]) => {
    if (!reservedExtra.test(key) || key === scopesExtra) return false;
    if (key === warrantsExtra) return values.some((text) => isTooMuch(parseWarrant(text), cluster));
    // That a service account is of this workspace is what permission was asked for.
    return !(key === clusterExtra && values.length === 1 && values[0] === cluster);
  });
}

function isTooMuch(holder: User | undefined, cluster: string): boolean {
  if (holder === undefined) return true;
  const home = homeOf(holder);
  return rankOf(holder.groups) > 0 || (home !== undefined && home !== cluster) || claimsIdentity(holder, cluster);
}

/** The impersonated user, who is nobody in particular outside of the workspace that permitted it; nor is anybody whose warrant they have. */
export function scopedTo(cluster: string, sender: User, user: User): User {
  return sender === user || rankOf(sender.groups) > 1 ? user : scoped(user, cluster);
}

function scoped(user: User, cluster: string): User {
  const extra: Record<string, readonly string[]> = {
    ...user.extra,
    [scopesExtra]: [...(user.extra?.[scopesExtra] ?? []), `cluster:${cluster}`],
  };
  const warrants = user.extra?.[warrantsExtra];
  if (warrants !== undefined) extra[warrantsExtra] = warrants.map((text) => scopedWarrant(text, cluster));
  return { ...user, extra };
}

function scopedWarrant(text: string, cluster: string): string {
  const holder = parseWarrant(text);
  if (holder === undefined) return text;
  const { name, ...rest } = scoped(holder, cluster);
  return JSON.stringify({ user: name, ...rest });
}
