import type { KindReference } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery/objects';
import type { Resource } from '../rest/resource.ts';

export interface RoleBinding extends KubeObject {
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string; readonly apiGroup?: string }[];
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string };
}

const group = 'rbac.authorization.k8s.io';
export const clusterRoleBindingKind: KindReference<RoleBinding> = {
  group,
  version: 'v1',
  resource: 'clusterrolebindings',
  namespaced: false,
  kind: 'ClusterRoleBinding',
};

export type Subject = NonNullable<RoleBinding['subjects']>[number];

/** Somebody with a role in a workspace. A binding with several subjects is several members. */
export interface Member {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly subject: Subject;
  readonly role: string;
  readonly binding: string;
}

/** The roles for people and what they are for, from the most to the least. */
export const memberRoles = [
  { name: 'cluster-admin', may: 'everything, also roles' },
  { name: 'service-provider', may: 'offers APIs and runs their controllers' },
  { name: 'user', may: 'uses what is offered' },
  { name: 'viewer', may: 'reads everything but secrets' },
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
      })),
    )
    .sort((one, other) => one.name.localeCompare(other.name) || one.role.localeCompare(other.role));
}

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

/** Takes a role from a member. Others with the same binding keep it. */
export async function removeMember(
  bindings: Resource<RoleBinding>,
  { subject, binding }: Pick<Member, 'subject' | 'binding'>,
): Promise<void> {
  const rest = bindingWithout(await bindings.get(binding), subject);
  if (rest === undefined) await bindings.delete(binding);
  else await bindings.update(rest);
}

/** Gives a member another role. The role of a binding never changes, so the member gets another binding, and leaves the one before only then. */
export async function changeRole(
  bindings: Resource<RoleBinding>,
  member: Pick<Member, 'subject' | 'binding'>,
  role: string,
): Promise<void> {
  await bindings.create(bindingFor(member.subject, role));
  await removeMember(bindings, member);
}

/** A binding without one of its subjects; undefined if nobody else is in it. */
export function bindingWithout(binding: RoleBinding, subject: Subject): RoleBinding | undefined {
  const subjects = (binding.subjects ?? []).filter((one) => !isSame(one, subject));
  return subjects.length === 0 ? undefined : { ...binding, subjects };
}
