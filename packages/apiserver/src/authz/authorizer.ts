import type { ClusterId, User } from '@capstan/api';
import { rootCluster, superuserGroup } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { status } from '@capstan/machinery';
import { homeOf } from '../authn/service-account.ts';
import type { Attributes, Authorizer, Decision } from './attributes.ts';
import { effectiveUsers } from './effective-users.ts';
import { GrantCache } from './grant-cache.ts';
import { type Grants, grantsIn, type RoleReader } from './grants.ts';
import { policyGrants, type StaticPolicy } from './policy.ts';
import { type Grant, type MissingRole, printMissing, rbacResources } from './resolver.ts';
import { type PolicyRule, ruleAllows } from './rule.ts';

/** The rules of a user in a workspace or namespace, and the roles that are missing. */
export interface RuleSet {
  readonly rules: readonly PolicyRule[];
  readonly missing: readonly MissingRole[];
  /** Why there are more rules than these; undefined if these are all. */
  readonly cut?: string;
}

export interface RuleResolver {
  /** All rules granted to a user by the bindings of the workspace, and of the namespace if one is given. */
  rulesFor(user: User, place: { cluster: ClusterId; namespace: string }): RuleSet;
}

/** The grants of one user in one workspace or namespace, each with the decision it leads to. */
interface Compiled {
  readonly permissions: readonly Permission[];
  readonly missing: readonly MissingRole[];
  readonly weight: number;
  readonly cut: string | undefined;
}

interface Permission extends Pick<Grant, 'rules' | 'role'> {
  readonly decision: Decision;
}

const superuser: Decision = { allowed: true, reason: '' };
const noOpinion: Decision = { allowed: false, reason: '' };

/** More than a busy server uses between two changes of its roles. */
const defaultCapacity = 10_000;

/** The largest weight of all cached grants together: some 100 MB, if nobody shares a role. */
const mostWeight = 2_000_000;

export interface RbacOptions {
  /** How many sets of compiled grants are cached, over all users. */
  readonly capacity?: number;
  /** The policy that applies in a workspace without being stored there. */
  readonly policyIn?: (cluster: ClusterId) => StaticPolicy;
  /** Changes whenever a role or binding that applies in a workspace changes. By default, any change counts for all workspaces. */
  readonly changedIn?: (cluster: ClusterId) => number;
  /** By default, each workspace is its own organization. */
  readonly organizationOf?: (cluster: ClusterId) => string;
}

/**
 * Role-based access control. Bindings are looked up on the first request of a user in a workspace or namespace; the result is cached until
 * a role or binding that applies there changes, or until the cache exceeds `capacity` and the user's organization has the most of it.
 */
export function rbacAuthorizer(
  objects: RoleReader,
  {
    capacity = defaultCapacity,
    policyIn,
    changedIn = () => generationOf(objects),
    organizationOf = (cluster) => cluster,
  }: RbacOptions = {},
): Authorizer & RuleResolver {
  const cache = new GrantCache<Compiled>({
    capacity,
    mostWeight,
    organizationOf,
    changedIn,
    make: (user, cluster, namespace) => compile(grantsFor(user, cluster, namespace)),
  });

  function grantsFor(user: User, cluster: ClusterId, namespace: string): Grants {
    const policy = policyIn?.(cluster);
    const fallback = policy && ((role: string) => policy.clusterRole(role));
    const found = grantsIn(objects, { cluster, namespace, fallback }, effectiveUsers(user, cluster));
    if (policy === undefined || namespace !== '') return found;
    // Accounts of the root workspace keep their identity in all workspaces, as far as the static policy goes.
    const everywhere = identitiesEverywhere(user, cluster).flatMap((one) => policyGrants(policy, one));
    return { grants: [...found.grants, ...everywhere], missing: found.missing, weight: found.weight, cut: found.cut };
  }

  return {
    authorize(attributes) {
      const { user, cluster, namespace } = attributes;
      if (user.groups.includes(superuserGroup)) return superuser;
      cache.makeRoom();
      const everywhere = cache.get(user, cluster, '');
      const decision = firstAllowing(everywhere, attributes);
      if (decision !== undefined) return decision;
      if (namespace === '') return denied([everywhere]);
      const local = cache.get(user, cluster, namespace);
      return firstAllowing(local, attributes) ?? denied([everywhere, local]);
    },

    rulesFor(user, { cluster, namespace }) {
      cache.makeRoom();
      const parts = [cache.get(user, cluster, '')];
      if (namespace !== '') parts.push(cache.get(user, cluster, namespace));
      const cut = parts.find((part) => part.cut !== undefined)?.cut;
      return {
        rules: parts.flatMap(({ permissions }) => permissions.flatMap(({ rules }) => rules)),
        missing: parts.flatMap(({ missing }) => missing),
        ...(cut !== undefined && { cut }),
      };
    },
  };
}

/** Increases with every change of any role or binding. */
function generationOf(objects: ObjectReader): number {
  return Object.values(rbacResources).reduce((sum, resource) => sum + objects.generation(resource), 0);
}

/**
 * The users that the static policy applies to: accounts of the root workspace under their own name, other users as they appear in the
 * workspace, and accounts of workspaces only by their groups.
 */
function identitiesEverywhere(user: User, cluster: ClusterId): readonly User[] {
  if (homeOf(user) === rootCluster) return [user];
  return effectiveUsers(user, cluster).map((one) => (homeOf(one) === undefined ? one : { name: '', groups: one.groups }));
}

function compile({ grants, missing, weight, cut }: Grants): Compiled {
  const permissions = grants.map(({ reason, rules, role }): Permission => ({ rules, role, decision: { allowed: true, reason } }));
  return { permissions, missing, weight, cut };
}

function firstAllowing({ permissions }: Compiled, attributes: Attributes): Decision | undefined {
  for (const { rules, decision } of permissions) {
    for (const rule of rules) if (ruleAllows(rule, attributes)) return decision;
  }
  return undefined;
}

function denied(parts: readonly Compiled[]): Decision {
  const missing = parts.flatMap((part) => part.missing.map((role) => printMissing(role)));
  const cut = parts.flatMap((part) => part.cut ?? []);
  if (missing.length === 0 && cut.length === 0) return noOpinion;
  const reason = `RBAC: ${status.aggregate([...missing, ...cut])}`;
  return { allowed: false, reason, ...(cut.length > 0 && { error: reason }) };
}
