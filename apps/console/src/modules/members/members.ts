import type { RoleBinding } from '../kube/core-kinds.ts';

/** Somebody with a role in a workspace. A binding with several subjects is several members. */
export interface Member {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly role: string;
  readonly binding: string;
  /** Other subjects of the same binding: they lose the role too when the binding is deleted. */
  readonly others: number;
}

/** The roles for people, from the most to the least. */
export const roles = [
  { value: 'cluster-admin', label: 'cluster-admin: everything, also roles' },
  { value: 'service-provider', label: 'service-provider: offers APIs and runs their controllers' },
  { value: 'user', label: 'user: uses what is offered' },
  { value: 'viewer', label: 'viewer: reads everything but secrets' },
] as const;

export function membersOf(bindings: readonly RoleBinding[]): readonly Member[] {
  return bindings
    .flatMap(({ metadata, roleRef, subjects = [] }) =>
      subjects.map(({ kind, name, namespace }, index) => ({
        id: `${metadata.name} ${index}`,
        kind: kind === 'ServiceAccount' ? 'Service account' : kind,
        name: namespace === undefined ? name : `${namespace}/${name}`,
        role: roleRef.name,
        binding: metadata.name!,
        others: subjects.length - 1,
      })),
    )
    .sort((one, other) => one.name.localeCompare(other.name) || one.role.localeCompare(other.role));
}

/** The binding that makes somebody a member. */
export function bindingFor({
  kind,
  name,
  role,
}: {
  readonly kind: 'User' | 'Group';
  readonly name: string;
  readonly role: string;
}): RoleBinding {
  const group = 'rbac.authorization.k8s.io';
  return {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { generateName: `${role}-` },
    subjects: [{ kind, name, apiGroup: group }],
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
  };
}
