import {
  boundObjects,
  type ClusterId,
  everyCluster,
  platformOwnersGroup,
  requiredGroupsAnnotation,
  rootCluster,
  superuserGroup,
  type User,
} from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { homeOf, isServiceAccount, parseServiceAccountName } from '../authn/service-account.ts';
import { type Attributes, type Authorizer, type Decision, nothingWanted } from '../authz/attributes.ts';
import type { RuleResolver } from '../authz/authorizer.ts';
import { effectiveUsers } from '../authz/effective-users.ts';
import { EntryRights } from './entry-rights.ts';
import type { MaximalPolicy } from './maximal-policy.ts';
import { bootstrapperGroup, externalLogicalClusterAdminGroup, logicalClusterAdminGroup } from './policy.ts';
import { logicalClusterOf } from './tree.ts';

/** Workspaces in these phases cannot be entered. A workspace that is being deleted can, since it has to be emptied. */
const closedPhases = new Set(['Scheduling', 'Unavailable']);

const denied: Decision = { allowed: false, reason: 'access denied' };
/** A denial that no other authorizer can override. */
const shut: Decision = { ...denied, denied: true };

/** The status of these kinds decides what is served to whom, so tenants must not write it. */
const guardedStatus = new Set(['apibindings', 'apiexports']);

export interface WorkspaceAuthorizer extends Authorizer, RuleResolver {
  /** Whether a user has access to a workspace by its roles. */
  mayEnter(user: User, cluster: ClusterId): boolean;
}

/**
 * Authorizes requests in a workspace. The user must have access to the workspace, the policy of the kind's provider must allow the request,
 * and so must the rules of the workspace. Everybody has access to the root workspace.
 */
export function workspaceAuthorizer(options: {
  readonly rbac: Authorizer & RuleResolver;
  readonly objects: ObjectReader;
  readonly maximal: MaximalPolicy;
  /** Changes whenever a workspace's logical cluster, or a role or binding that applies in it, changes. */
  readonly changedIn: (cluster: ClusterId) => number;
}): WorkspaceAuthorizer {
  const { rbac, objects, maximal, changedIn } = options;

  /** The platform's controllers do not consume APIs but maintain them, so no policy limits them. */
  const withinPolicy = (attributes: Attributes): boolean => isPlatformAccount(attributes.user) || maximal.allows(attributes);

  function mayEnter(user: User, cluster: ClusterId): boolean {
    if (isPlatformAccount(user)) return true;
    const groups = groupsIn(cluster, user);
    if (groups.has(logicalClusterAdminGroup)) return true;
    const workspace = logicalClusterOf(objects, cluster);
    if (workspace === undefined || closedPhases.has(workspace.status?.phase ?? '')) return false;
    if (isServiceAccount(user.name) && homeOf(user) === cluster) return true;
    if (!isExpected(user, workspace, groups)) return false;
    return rbac.authorize({ ...entering, user, cluster }).allowed;
  }
  const rights = new EntryRights(mayEnter, changedIn);

  /** Whether a workspace is closed to a user, whatever its roles say. */
  function isShut(user: User, cluster: ClusterId): boolean {
    const workspace = logicalClusterOf(objects, cluster);
    if (workspace === undefined || closedPhases.has(workspace.status?.phase ?? '')) return true;
    return !isExpected(user, workspace, groupsIn(cluster, user));
  }

  return {
    explain(attributes) {
      const { cluster, user } = attributes;
      if (cluster === rootCluster || cluster === everyCluster || user.groups.includes(superuserGroup)) return {};
      const workspace = logicalClusterOf(objects, cluster);
      const isWanted = workspace !== undefined && isExpected(user, workspace, groupsIn(cluster, user));
      return {
        'request.auth.kcp.io/01-requiredgroups': step(isWanted, 'groups that the workspace requires'),
        'request.auth.kcp.io/02-content': step(mayEnter(user, cluster), 'access to the workspace'),
        'request.auth.kcp.io/03-systemcrd': step(!isGuarded(attributes), 'status that only the platform writes'),
        'request.auth.kcp.io/04-maxpermissionpolicy': step(withinPolicy(attributes), 'maximal permission policy of the provider'),
        'request.auth.kcp.io/05-bootstrap': rbac.authorize(attributes),
      };
    },
    authorize(attributes) {
      const { cluster, user } = attributes;
      if (user.groups.includes(superuserGroup)) return rbac.authorize(attributes);
      if (cluster === everyCluster && !isPlatformAccount(user)) return shut;
      if (isGuarded(attributes)) return shut;
      if (cluster === rootCluster) return withinPolicy(attributes) ? rbac.authorize(attributes) : denied;
      if (cluster !== everyCluster && !(rights.mayEnter(user, cluster) && withinPolicy(attributes)))
        return isShut(user, cluster) ? shut : denied;
      const decision = rbac.authorize(attributes);
      if (decision.allowed) return decision;
      // Roles can allow bound kinds without naming them.
      const asBound = maximal.isBound(attributes) ? rbac.authorize({ ...attributes, ...boundObjects }) : denied;
      if (asBound.allowed) return asBound;
      return decision.error === undefined ? denied : { ...denied, reason: decision.error };
    },
    rulesFor: (user, place) => rbac.rulesFor(user, place),
    mayEnter: (user, cluster) => user.groups.includes(superuserGroup) || rights.mayEnter(user, cluster),
  };
}

const groupsIn = (cluster: ClusterId, user: User): ReadonlySet<string> =>
  new Set(effectiveUsers(user, cluster).flatMap((one) => one.groups));

/** Service accounts have no groups that a workspace could require. */
function isExpected(user: User, workspace: KubeObject, groups: ReadonlySet<string>): boolean {
  return isServiceAccount(user.name) || hasRequiredGroups(workspace, groups);
}

/** Whether only the platform may write it, whatever roles allow. */
export function isGuarded({ group, resource, subresource, user }: Attributes): boolean {
  return group === 'apis.kcp.io' && subresource === 'status' && guardedStatus.has(resource) && !isPlatformAccount(user);
}

function step(allowed: boolean, what: string): Decision {
  return { allowed, reason: `${what}: ${allowed ? 'passed' : 'failed'}` };
}

const entering: Omit<Attributes, 'user' | 'cluster'> = { ...nothingWanted, verb: 'access', path: '/' };

/** An account of the platform's own controllers. Tenants' accounts of the same name belong to their own workspace. */
export function isPlatformAccount(user: User): boolean {
  return homeOf(user) === rootCluster && parseServiceAccountName(user.name)?.namespace === 'kube-system';
}

/** Parses groups: semicolons separate alternatives, commas separate groups that are all required. */
function hasRequiredGroups({ metadata }: KubeObject, groups: ReadonlySet<string>): boolean {
  const required = metadata.annotations?.[requiredGroupsAnnotation];
  if (required === undefined || groups.has(externalLogicalClusterAdminGroup)) return true;
  return [...required.split(';'), platformOwnersGroup, bootstrapperGroup].some((all) => all.split(',').every((name) => groups.has(name)));
}
