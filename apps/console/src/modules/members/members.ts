import type { RoleBinding } from '../kube/core-kinds.ts';

export type Subject = NonNullable<RoleBinding['subjects']>[number];

/** Somebody with a role in a workspace. A binding with several subjects is several members. */
export interface Member {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly subject: Subject;
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
      subjects.map((subject, index) => ({
        id: `${metadata.name} ${index}`,
        kind: subject.kind === 'ServiceAccount' ? 'Service account' : subject.kind,
        name: subject.namespace === undefined ? subject.name : `${subject.namespace}/${subject.name}`,
        subject,
        role: roleRef.name,
        binding: metadata.name!,
        others: subjects.length - 1,
      })),
    )
    .sort((one, other) => one.name.localeCompare(other.name) || one.role.localeCompare(other.role));
}

const group = 'rbac.authorization.k8s.io';

/** A person or a group. Service accounts are in no group of the API. */
export const subjectOf = (kind: 'User' | 'Group', name: string): Subject => ({ kind, name, apiGroup: group });

/** The binding that makes somebody a member. */
export function bindingFor(subject: Subject, role: string): RoleBinding {
  return {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { generateName: `${role}-` },
    subjects: [subject],
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
  };
}

const isSame = (one: Subject, other: Subject): boolean =>
  one.kind === other.kind && one.name === other.name && one.namespace === other.namespace;

/** A binding without one of its subjects; undefined if nobody else is in it. */
export function bindingWithout(binding: RoleBinding, subject: Subject): RoleBinding | undefined {
  const subjects = (binding.subjects ?? []).filter((one) => !isSame(one, subject));
  return subjects.length === 0 ? undefined : { ...binding, subjects };
}
