import type { User } from '@capstan/api';
import { rootCluster, superuserGroup } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { status } from '@capstan/machinery';
import { homeOf } from '../authn/service-account.ts';
import type { Attributes, Authorizer, Decision } from './attributes.ts';
import { effectiveUsers } from './effective-users.ts';
import { policyGrants, type StaticPolicy } from './policy.ts';
import { type Grants, grantsIn, type MissingRole, printMissing, rbacResources } from './resolver.ts';
import { type PolicyRule, ruleAllows } from './rule.ts';

/** The rules a user has in a place, and what could not be found of them. */
export interface RuleSet {
  readonly rules: readonly PolicyRule[];
  readonly missing: readonly MissingRole[];
}

export interface RuleResolver {
  /** Everything that the bindings of the workspace, and of the namespace when one is given, let a user do. */
  rulesFor(user: User, place: { cluster: string; namespace: string }): RuleSet;
}

/** The grants of one user in one place, each with the decision it leads to, ready to be asked. */
interface Compiled {
  readonly permissions: readonly { readonly rules: readonly PolicyRule[]; readonly decision: Decision }[];
  readonly missing: readonly MissingRole[];
}

/** What is known about one user in a workspace, by namespace. */
interface Places {
  /** When roles and bindings that hold there last changed. */
  readonly changed: number;
  readonly compiled: Map<string, Compiled>;
}

/** What is known about one user, by workspace. */
type Known = Map<string, Places>;

const superuser: Decision = { allowed: true, reason: '' };
const noOpinion: Decision = { allowed: false, reason: '' };

/** More than a busy server asks about between two changes of its roles. */
const defaultCapacity = 10_000;

export interface RbacOptions {
  /** How many compiled places are kept, over all users. */
  readonly capacity?: number;
  /** What holds in a workspace without being stored there. */
  readonly policyIn?: (cluster: string) => StaticPolicy;
  /** Another number whenever a role or binding changes that holds in a workspace. Without it, any change counts for all workspaces. */
  readonly changedIn?: (cluster: string) => number;
}

/**
 * Role based access control. Bindings are looked up when a user first asks in a workspace or namespace; what was found is kept until a role or
 * binding changes that holds there, or until more is known than `capacity` allows.
 */
export function rbacAuthorizer(
  objects: ObjectReader,
  { capacity = defaultCapacity, policyIn, changedIn = () => generationOf(objects) }: RbacOptions = {},
): Authorizer & RuleResolver {
  // Users that authenticators keep are the same object from request to request; those made per request (impersonation) are found by who they are.
  let byUser = new WeakMap<User, Known>();
  const byIdentity = new Map<string, Known>();
  let size = 0;

  function makeRoom(): void {
    if (size < capacity) return;
    byUser = new WeakMap();
    byIdentity.clear();
    size = 0;
  }

  function knownOf(user: User): Known {
    let known = byUser.get(user);
    if (known !== undefined) return known;
    // What a user carries may say more about who they are: where they are at home, how far they go, whose rights they have.
    const identity = JSON.stringify([user.name, user.groups, user.extra]);
    known = byIdentity.get(identity);
    if (known === undefined) {
      known = new Map();
      byIdentity.set(identity, known);
      size++;
    }
    byUser.set(user, known);
    return known;
  }

  function compiledFor(user: User, cluster: string, namespace: string): Compiled {
    const known = knownOf(user);
    const changed = changedIn(cluster);
    let places = known.get(cluster);
    if (places?.changed !== changed) {
      size -= places?.compiled.size ?? 0;
      known.set(cluster, (places = { changed, compiled: new Map() }));
    }
    let compiled = places.compiled.get(namespace);
    if (compiled === undefined) {
      compiled = compile(grantsFor(user, cluster, namespace));
      places.compiled.set(namespace, compiled);
      size++;
    }
    return compiled;
  }

  function grantsFor(user: User, cluster: string, namespace: string): Grants {
    const policy = policyIn?.(cluster);
    const fallback = policy && ((role: string) => policy.clusterRole(role));
    const parts = effectiveUsers(user, cluster).map((one) => grantsIn(objects, { cluster, namespace, fallback }, one));
    const grants = parts.flatMap((part) => part.grants);
    // The platform's own accounts are themselves everywhere, in what was made for them.
    if (policy !== undefined && namespace === '') for (const one of everywhere(user, cluster)) grants.push(...policyGrants(policy, one));
    return { grants, missing: parts.flatMap((part) => part.missing) };
  }

  return {
    authorize(attributes) {
      const { user, cluster, namespace } = attributes;
      if (user.groups.includes(superuserGroup)) return superuser;
      makeRoom();
      const everywhere = compiledFor(user, cluster, '');
      const decision = firstAllowing(everywhere, attributes);
      if (decision !== undefined) return decision;
      if (namespace === '') return denied(everywhere.missing);
      const local = compiledFor(user, cluster, namespace);
      return firstAllowing(local, attributes) ?? denied(everywhere.missing, local.missing);
    },

    rulesFor(user, { cluster, namespace }) {
      makeRoom();
      const parts = [compiledFor(user, cluster, '')];
      if (namespace !== '') parts.push(compiledFor(user, cluster, namespace));
      return {
        rules: parts.flatMap(({ permissions }) => permissions.flatMap(({ rules }) => rules)),
        missing: parts.flatMap(({ missing }) => missing),
      };
    },
  };
}

/** Only grows, with every change of any role or binding. */
function generationOf(objects: ObjectReader): number {
  return Object.values(rbacResources).reduce((sum, resource) => sum + objects.generation(resource), 0);
}

/** Whom the static policy knows: accounts of the root workspace wherever they go, others as they are seen, and accounts of workspaces by their groups alone. */
function everywhere(user: User, cluster: string): readonly User[] {
  if (homeOf(user) === rootCluster) return [user];
  return effectiveUsers(user, cluster).map((one) => (homeOf(one) === undefined ? one : { name: '', groups: one.groups }));
}

function compile({ grants, missing }: Grants): Compiled {
  return {
    permissions: grants.map(({ reason, rules }) => ({ rules, decision: { allowed: true, reason } })),
    missing,
  };
}

function firstAllowing({ permissions }: Compiled, attributes: Attributes): Decision | undefined {
  for (const { rules, decision } of permissions) {
    for (const rule of rules) if (ruleAllows(rule, attributes)) return decision;
  }
  return undefined;
}

function denied(everywhere: readonly MissingRole[], local: readonly MissingRole[] = []): Decision {
  if (everywhere.length === 0 && local.length === 0) return noOpinion;
  return { allowed: false, reason: `RBAC: ${status.aggregate([...everywhere, ...local].map((role) => printMissing(role)))}` };
}
