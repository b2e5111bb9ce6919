import type { User } from '@capstan/api';
import { abroad, clusterGroup, homeOf } from '../authn/service-account.ts';

/**
 * Limits a user to workspaces; in all others the user is anonymous. Every value must name the workspace; a value may be a comma-separated
 * list.
 */
export const scopesExtra = 'authentication.kcp.io/scopes';
/** Other users whose permissions a user also has, each as JSON. */
export const warrantsExtra = 'authorization.kcp.io/warrant';

const clusterScope = 'cluster:';

/** Longer chains of warrants are not followed. */
const deepest = 5;

/** More identities than any user has. Those of later warrants do not count: every one is compared with all bindings. */
const mostUsers = 32;

const stranger: User = { name: 'system:anonymous', groups: ['system:authenticated'] };

/** All users whose permissions a user has in a workspace. For most users, that is only the user itself. */
export function effectiveUsers(user: User, cluster: string): readonly User[] {
  const found: User[] = [];
  collect(user, { cluster, depth: 0, found });
  return found;
}

interface Collecting {
  readonly cluster: string;
  readonly depth: number;
  readonly found: User[];
}

function collect(user: User, { cluster, depth, found }: Collecting): void {
  const home = homeOf(user);
  found.push(home !== undefined && home !== cluster ? abroad(user, home) : isInScope(user, cluster) ? user : strangerOf(user, depth));
  const warrants = user.extra?.[warrantsExtra];
  if (warrants === undefined || depth === deepest) return;
  for (const text of warrants) {
    if (found.length >= mostUsers) return;
    const holder = parseWarrant(text);
    if (holder !== undefined) collect(holder, { cluster, depth: depth + 1, found });
  }
}

/** An anonymous user with the groups of the workspaces that all scopes name. Scopes of a warrant give no groups. */
function strangerOf({ extra }: User, depth: number): User {
  const [first = '', ...others] = extra?.[scopesExtra] ?? [];
  let clusters = first.split(',').filter((scope) => scope.startsWith(clusterScope));
  for (const other of others) {
    const named = new Set(other.split(','));
    clusters = clusters.filter((scope) => named.has(scope));
  }
  if (depth > 0 || clusters.length === 0) return stranger;
  return { ...stranger, groups: [...stranger.groups, ...clusters.map((scope) => clusterGroup(scope.slice(clusterScope.length)))] };
}

function isInScope({ extra }: User, cluster: string): boolean {
  const scopes = extra?.[scopesExtra];
  return scopes === undefined || scopes.every((scope) => scope.split(',').includes(`${clusterScope}${cluster}`));
}

/** The user in a warrant. Undefined, and so without permissions, if the warrant is invalid. */
export function parseWarrant(text: string): User | undefined {
  try {
    const { user, uid, groups, extra } = JSON.parse(text) as { user?: unknown; uid?: unknown; groups?: unknown; extra?: unknown };
    if (typeof user !== 'string' || user === '') return undefined;
    return {
      name: user,
      ...(typeof uid === 'string' && { uid }),
      groups: isTexts(groups) ? groups : [],
      ...(isExtra(extra) && { extra }),
    };
  } catch {
    return undefined;
  }
}

const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((item) => typeof item === 'string');

const isExtra = (value: unknown): value is Record<string, string[]> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isTexts);
