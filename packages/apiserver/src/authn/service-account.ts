import type { User } from '@capstan/api';
import { rootCluster } from '@capstan/api';
import { names } from '@capstan/machinery';

const prefix = 'system:serviceaccount:';
/** Service accounts of workspaces with the same namespace and name have the same user name: this says which workspace is meant. */
export const clusterExtra = 'authentication.kcp.io/cluster-name';

export const serviceAccountName = (namespace: string, name: string): string => `${prefix}${namespace}:${name}`;

export const serviceAccountGroups = (namespace: string): string[] => ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];

export const isServiceAccount = (userName: string): boolean => userName.startsWith(prefix);

/** The parts of a service account's user name; undefined when it is not one. */
export function parseServiceAccountName(userName: string): { namespace: string; name: string } | undefined {
  if (!isServiceAccount(userName)) return undefined;
  const parts = userName.slice(prefix.length).split(':');
  const [namespace = '', name = ''] = parts;
  const isValid = parts.length === 2 && names.dns1123Label(namespace).length === 0 && names.dns1123Subdomain(name).length === 0;
  return isValid ? { namespace, name } : undefined;
}

/** Whoever belongs to a workspace has this group in others, which can give all of them something at once. */
export const clusterGroup = (cluster: string): string => `system:cluster:${cluster}`;

/** The workspace that a service account is of; undefined for users who are the same everywhere. */
export function homeOf(user: User): string | undefined {
  return isServiceAccount(user.name) ? (user.extra?.[clusterExtra]?.[0] ?? rootCluster) : undefined;
}

/** The same user, known to be of this workspace when it is a service account that does not say. */
export function atHomeIn(user: User, cluster: string): User {
  if (cluster === rootCluster || !isServiceAccount(user.name) || user.extra?.[clusterExtra] !== undefined) return user;
  return { ...user, extra: { ...user.extra, [clusterExtra]: [cluster] } };
}

/**
 * How a service account of one workspace is known in all others: under a name of its own, so that it never passes for an account of theirs, and they can
 * still give it something on purpose.
 */
export function abroad(user: User, home: string): User {
  return {
    name: `system:kcp:serviceaccount:${home}:${user.name.slice(prefix.length)}`,
    groups: ['system:authenticated', clusterGroup(home)],
  };
}
