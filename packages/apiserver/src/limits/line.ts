import { everyCluster, nodeAgentGroup, nodeGroup, rootCluster, type User } from '@capstan/api';
import { homeOf } from '../authn/service-account.ts';

/** Agents of nodes, that is kubelets and node agents, have places of their own: neither they nor people can take those of the others. */
export type Level = 'people' | 'agents';

/** Where a request waits, and with whom it shares places. */
export interface Line {
  readonly level: Level;
  /** A workspace, however many users it has; in the root workspace, and for agents, a single user. */
  readonly tenant: string;
  /** A user of the tenant. Equal to `tenant` if that is a single user. */
  readonly user: string;
}

/** The line that each user was in last: nearly all requests of a user are for the same workspace. */
const last = new WeakMap<User, { readonly cluster: string; readonly line: Line }>();

/** The line of a request. User names are not enough: service accounts of different workspaces have the same names. */
export function lineOf(cluster: string, user: User): Line {
  const known = last.get(user);
  if (known !== undefined && known.cluster === cluster) return known.line;
  const line = newLine(cluster, user);
  last.set(user, { cluster, line });
  return line;
}

function newLine(cluster: string, user: User): Line {
  const { groups, name } = user;
  const single = `@${name}`;
  if (groups.includes(nodeGroup) || groups.includes(nodeAgentGroup)) return { level: 'agents', tenant: single, user: single };
  if (cluster === rootCluster || cluster === everyCluster || cluster === '') return { level: 'people', tenant: single, user: single };
  const tenant = `/${cluster}`;
  return { level: 'people', tenant, user: `${tenant}/${homeOf(user) ?? ''}/${name}` };
}
