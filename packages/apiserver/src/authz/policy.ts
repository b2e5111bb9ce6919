import type { User } from '@capstan/api';
import { type KubeObject, rulesOf } from '@capstan/machinery';
import { candidateOf, type Grant, grantOf } from './resolver.ts';
import type { PolicyRule } from './rule.ts';

/** Roles and bindings that apply without being stored in a workspace. */
export interface StaticPolicy {
  /** The rules of a role. A stored role of the same name takes precedence. */
  clusterRole(name: string): readonly PolicyRule[] | undefined;
  readonly bindings: readonly KubeObject[];
}

export function staticPolicy(objects: readonly KubeObject[]): StaticPolicy {
  const clusterRoles = new Map<string, readonly PolicyRule[]>();
  for (const object of objects) if (object.kind === 'ClusterRole') clusterRoles.set(object.metadata.name!, rulesOf(object));
  return { clusterRole: (name) => clusterRoles.get(name), bindings: objects.filter(({ kind }) => kind === 'ClusterRoleBinding') };
}

/** The grants of a policy to a user. */
export function policyGrants(policy: StaticPolicy, user: User): Grant[] {
  const candidate = candidateOf(user);
  return policy.bindings.flatMap((binding) => {
    const found = grantOf(binding, candidate, ({ name }) => policy.clusterRole(name));
    return found !== undefined && 'rules' in found ? [found] : [];
  });
}
