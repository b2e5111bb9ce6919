import { everyCluster, nodeAgentGroup, nodeGroup, rootCluster, superuserGroup, type User } from '@capstan/api';
import { homeOf } from '../authn/service-account.ts';

/** Agents of nodes, that is kubelets and node agents, have places of their own: neither they nor people can take those of the others. */
export type Level = 'people' | 'agents';

/** Where a request waits, and with whom it shares places. */
export interface Line {
  readonly level: Level;
  /** An organization, however many workspaces and users it has; in the root workspace, and for agents and administrators, a single user. */
  readonly tenant: string;
  /** A workspace of the tenant. Equal to `tenant` if that is a single user. */
  readonly workspace: string;
  /** A user of the tenant. Equal to `tenant` if that is a single user. */
  readonly user: string;
  /** Shares processor time with others of the same group: a thousand agents that act at once are not a thousand tenants. */
  readonly group?: string;
}

const agentsTogether = '@';

/** The organization of a workspace: workspaces are free, so the places of one must not be. */
export type OrganizationOf = (cluster: string) => string;

/** The line that each user was in last: nearly all requests of a user are for the same workspace. */
const last = new WeakMap<User, { readonly cluster: string; readonly line: Line }>();

/** The line of a request. User names are not enough: service accounts of different workspaces have the same names. */
export function lineOf(cluster: string, user: User, organizationOf: OrganizationOf = (id) => id): Line {
  const known = last.get(user);
  if (known !== undefined && known.cluster === cluster) return known.line;
  const line = newLine(cluster, user, organizationOf);
  last.set(user, { cluster, line });
  return line;
}

function newLine(cluster: string, user: User, organizationOf: OrganizationOf): Line {
  const { groups, name } = user;
  if (groups.includes(nodeGroup) || groups.includes(nodeAgentGroup)) return { ...single('agents', name), group: agentsTogether };
  // The platform's administrators belong to no tenant: they must be able to help one that has used up its share.
  if (groups.includes(superuserGroup)) return single('people', name);
  const home = homeOf(user);
  const isShared = cluster === rootCluster || cluster === everyCluster || cluster === '';
  // Accounts are free too: outside of any tenant, those of one workspace count as their organization.
  const payer = isShared ? home : cluster;
  if (payer === undefined || payer === rootCluster) return single('people', name);
  const tenant = `/${organizationOf(payer)}`;
  return { level: 'people', tenant, workspace: `${tenant}:${payer}`, user: `${tenant}/${home ?? ''}/${name}` };
}

/** The line of unauthenticated clients from one source. */
export function strangerLine(source: string): Line {
  const tenant = `?${source}`;
  return { level: 'people', tenant, workspace: tenant, user: tenant };
}

function single(level: Level, name: string): Line {
  const tenant = `@${name}`;
  return { level, tenant, workspace: tenant, user: tenant };
}
