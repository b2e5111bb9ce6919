import { type ClusterId, nodeGroup, nodePrefix, rootCluster, type User } from '@capstan/api';
import { scopesExtra } from '../effective-users.ts';

/**
 * The name of the node that a user is in a workspace; undefined for other users. Certificates of nodes are issued in the root workspace, so a
 * node is nobody in other workspaces, unless its scopes limit it to that workspace.
 */
export function nodeNameOf(user: User, cluster: ClusterId): string | undefined {
  if (!user.name.startsWith(nodePrefix) || !user.groups.includes(nodeGroup)) return undefined;
  const scopes = user.extra?.[scopesExtra];
  const belongs = scopes === undefined ? cluster === rootCluster : scopes.every((scope) => scope.split(',').includes(`cluster:${cluster}`));
  return belongs ? user.name.slice(nodePrefix.length) : undefined;
}
