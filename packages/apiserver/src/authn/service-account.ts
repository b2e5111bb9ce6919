import type { ClusterId, User } from '@capstan/api';
import { rootCluster } from '@capstan/api';
import { names } from '@capstan/machinery';

const prefix = 'system:serviceaccount:';
/** Tells apart service accounts of different workspaces, which may have the same user name. */
export const clusterExtra = 'authentication.kcp.io/cluster-name';

export const serviceAccountName = (namespace: string, name: string): string => `${prefix}${namespace}:${name}`;

export const serviceAccountGroups = (namespace: string): string[] => ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];

export const isServiceAccount = (userName: string): boolean => userName.startsWith(prefix);

/** The parts of a service account's user name; undefined for other users. */
export function parseServiceAccountName(userName: string): { namespace: string; name: string } | undefined {
  if (!isServiceAccount(userName)) return undefined;
  const parts = userName.slice(prefix.length).split(':');
  const [namespace = '', name = ''] = parts;
  const isValid = parts.length === 2 && names.dns1123Label(namespace).length === 0 && names.dns1123Subdomain(name).length === 0;
  return isValid ? { namespace, name } : undefined;
}

/** The group of all users of a workspace when they access other workspaces, which can grant permissions to it. */
export const clusterGroup = (cluster: string): string => `system:cluster:${cluster}`;

/** The workspace of a service account; undefined for other users, who are the same in all workspaces. */
export function homeOf(user: User): string | undefined {
  return isServiceAccount(user.name) ? (user.extra?.[clusterExtra]?.[0] ?? rootCluster) : undefined;
}

/** Adds the workspace to a service account that does not name one. */
export function atHomeIn(user: User, cluster: ClusterId): User {
  if (cluster === rootCluster || !isServiceAccount(user.name) || user.extra?.[clusterExtra] !== undefined) return user;
  return { ...user, extra: { ...user.extra, [clusterExtra]: [cluster] } };
}

/**
 * The identity of a service account in other workspaces. Its name differs from those of their own accounts, and they can grant permissions
 * to it.
 */
export function abroad(user: User, home: string): User {
  return {
    name: `system:kcp:serviceaccount:${home}:${user.name.slice(prefix.length)}`,
    groups: ['system:authenticated', clusterGroup(home)],
  };
}
