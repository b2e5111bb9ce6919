import { type KubeObject, rulesOf } from '@capstan/machinery';
import type { User } from '../authn/user.ts';
import { type Grant, grantOf } from './resolver.ts';
import type { PolicyRule } from './rule.ts';

/** Roles and bindings that hold without being stored: every workspace has them. */
export interface StaticPolicy {
  /** By name. A role of the same name in a workspace goes before it there. */
  readonly clusterRoles: ReadonlyMap<string, readonly PolicyRule[]>;
  readonly bindings: readonly KubeObject[];
}

export function staticPolicy(objects: readonly KubeObject[]): StaticPolicy {
  const clusterRoles = new Map<string, readonly PolicyRule[]>();
  for (const object of objects) if (object.kind === 'ClusterRole') clusterRoles.set(object.metadata.name!, rulesOf(object));
  return { clusterRoles, bindings: objects.filter(({ kind }) => kind === 'ClusterRoleBinding') };
}

/** What a policy gives a user. */
export function policyGrants({ bindings, clusterRoles }: StaticPolicy, user: User): Grant[] {
  return bindings.flatMap((binding) => {
    const found = grantOf(binding, user, ({ name }) => clusterRoles.get(name));
    return found !== undefined && 'rules' in found ? [found] : [];
  });
}
