import type { KubeObject } from '@capstan/machinery';
import { homeOf, isServiceAccount, parseServiceAccountName } from '../authn/service-account.ts';
import type { User } from '../authn/user.ts';
import type { Attributes, Authorizer, Decision } from '../authz/attributes.ts';
import { type RuleResolver, superuserGroup } from '../authz/authorizer.ts';
import { effectiveUsers } from '../authz/effective-users.ts';
import type { ObjectReader } from '../cache/reader.ts';
import { fieldsOf, textOf } from '../kinds/workloads/reading.ts';
import type { MaximalPolicy } from './maximal-policy.ts';
import { everyCluster, rootCluster } from './names.ts';
import { adminGroup, bootstrapperGroup, externalLogicalClusterAdminGroup, logicalClusterAdminGroup } from './policy.ts';
import { logicalClusterOf } from './tree.ts';

const requiredGroupsAnnotation = 'authorization.kcp.io/required-groups';

/** Workspaces that are not yet, or no longer, to be entered. Whoever empties one that is being deleted still has to get in. */
const closedPhases = new Set(['Scheduling', 'Unavailable']);

const denied: Decision = { allowed: false, reason: 'access denied' };

/** Conditions of the platform's kinds decide what is served to whom: they are not for tenants to write. */
const guardedStatus = new Set(['apibindings', 'apiexports']);

/**
 * Who may do what in a workspace: whoever may enter it, and may do it by the rules of whom the kind is from, and by the rules of the workspace. In the root
 * workspace everybody may enter.
 */
export function workspaceAuthorizer(options: {
  readonly rbac: Authorizer & RuleResolver;
  readonly objects: ObjectReader;
  readonly maximal: MaximalPolicy;
}): Authorizer & RuleResolver {
  const { rbac, objects, maximal } = options;

  /** The platform's own controllers consume no API: they keep it in order. */
  const withinPolicy = (attributes: Attributes): boolean => isPlatformAccount(attributes.user) || maximal.allows(attributes);

  function mayEnter(user: User, cluster: string): boolean {
    if (isPlatformAccount(user)) return true;
    const groups = new Set(effectiveUsers(user, cluster).flatMap((one) => one.groups));
    if (groups.has(logicalClusterAdminGroup)) return true;
    const workspace = logicalClusterOf(objects, cluster);
    if (workspace === undefined || closedPhases.has(textOf(fieldsOf(workspace['status'])['phase']))) return false;
    if (isServiceAccount(user.name) && homeOf(user) === cluster) return true;
    if (!isServiceAccount(user.name) && !hasRequiredGroups(workspace, groups)) return false;
    return rbac.authorize({ ...entering, user, cluster }).allowed;
  }

  return {
    authorize(attributes) {
      const { cluster, user, group, resource, subresource } = attributes;
      if (user.groups.includes(superuserGroup)) return rbac.authorize(attributes);
      if (cluster === everyCluster && !isPlatformAccount(user)) return denied;
      if (group === 'apis.kcp.io' && subresource === 'status' && guardedStatus.has(resource) && !isPlatformAccount(user)) return denied;
      if (cluster === rootCluster) return withinPolicy(attributes) ? rbac.authorize(attributes) : denied;
      if (cluster !== everyCluster && !(mayEnter(user, cluster) && withinPolicy(attributes))) return denied;
      const decision = rbac.authorize(attributes);
      return decision.allowed ? decision : denied;
    },
    rulesFor: (user, place) => rbac.rulesFor(user, place),
  };
}

const entering: Omit<Attributes, 'user' | 'cluster'> = {
  verb: 'access',
  isResource: false,
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  path: '/',
};

/** An account that the platform's own controllers act as. Tenants' accounts of the same name are at home in their workspace. */
export function isPlatformAccount(user: User): boolean {
  return homeOf(user) === rootCluster && parseServiceAccountName(user.name)?.namespace === 'kube-system';
}

/** Groups with semicolons between those of which one is enough, and commas between those that are all needed. */
function hasRequiredGroups({ metadata }: KubeObject, groups: ReadonlySet<string>): boolean {
  const required = metadata.annotations?.[requiredGroupsAnnotation];
  if (required === undefined || groups.has(externalLogicalClusterAdminGroup)) return true;
  return [...required.split(';'), adminGroup, bootstrapperGroup].some((all) => all.split(',').every((name) => groups.has(name)));
}
