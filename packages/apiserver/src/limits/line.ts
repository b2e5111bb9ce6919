import { everyCluster, rootCluster, type User } from '@capstan/api';

/**
 * The line that a request waits in. Each tenant workspace has one line, however many users it has; in the root workspace each user has one.
 * User names are not enough: service accounts of different workspaces have the same names.
 */
export function lineOf(cluster: string, user: User): string {
  return cluster === rootCluster || cluster === everyCluster || cluster === '' ? user.name : `/${cluster}`;
}
