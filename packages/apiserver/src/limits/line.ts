import { everyCluster, rootCluster, type User } from '@capstan/api';

/**
 * Who takes turns with whom: tenants do, however many users they have, and so do the users of the root workspace. Names alone would not do: service accounts of
 * different workspaces have the same.
 */
export function lineOf(cluster: string, user: User): string {
  return cluster === rootCluster || cluster === everyCluster || cluster === '' ? user.name : `/${cluster}`;
}
