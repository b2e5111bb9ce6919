import type { ClusterId, User } from '@capstan/api';
import type { ObjectKey, ObjectReader } from '@capstan/kinds';
import { fieldError, type GroupResource, type KubeObject, type PolicyRule, rulesOf } from '@capstan/machinery';

export const rbacGroup = 'rbac.authorization.k8s.io';
const resource = (name: string): GroupResource => ({ group: rbacGroup, resource: name });
export const rbacResources = {
  roles: resource('roles'),
  roleBindings: resource('rolebindings'),
  clusterRoles: resource('clusterroles'),
  clusterRoleBindings: resource('clusterrolebindings'),
} as const;

export interface RoleRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly apiGroup?: string;
  readonly namespace?: string;
}

/** The rules of one role, granted to a user by a binding. */
export interface Grant {
  /** The reason given for requests that these rules allow. */
  readonly reason: string;
  readonly rules: readonly PolicyRule[];
  /** The stored role, kept so that all who have it share one parsed copy. */
  readonly role?: KubeObject | undefined;
}

/** A role that a binding refers to and that does not exist. */
export interface MissingRole {
  readonly kind: string;
  readonly name: string;
}

export const isRoleKind = (kind: string): kind is 'Role' | 'ClusterRole' => kind === 'Role' || kind === 'ClusterRole';

/** Formats the reason. `resource` names the role's resource; defaults to its kind in lower case. */
export function printMissing({ kind, name }: MissingRole, resource = kind.toLowerCase()): string {
  if (!isRoleKind(kind)) return `unsupported role reference kind: ${fieldError.quote(kind)}`;
  return `${resource}.${rbacGroup} "${name}" not found`;
}

const none: readonly never[] = [];

/** Where to look for roles and bindings. */
export interface RolePlace {
  readonly cluster: ClusterId;
  readonly namespace: string;
  /** Finds cluster roles that exist without being stored. */
  readonly fallback?: ((name: string) => readonly PolicyRule[] | undefined) | undefined;
}

/** A user, prepared to be compared with many subjects. */
export interface Candidate {
  readonly name: string;
  readonly groups: ReadonlySet<string>;
}

export const candidateOf = ({ name, groups }: User): Candidate => ({ name, groups: new Set(groups) });

/** The grant of one binding: undefined if the user is not a subject, the role's name if the role does not exist. */
export function grantOf(
  binding: KubeObject,
  user: Candidate,
  rulesOfRole: (role: RoleRef) => readonly PolicyRule[] | undefined,
): Grant | MissingRole | undefined {
  const { namespace = '' } = binding.metadata;
  const subject = subjectsOf(binding).find((candidate) => isMeant(candidate, user, namespace));
  if (subject === undefined) return undefined;
  const role = binding['roleRef'] as RoleRef;
  const rules = rulesOfRole(role);
  return rules === undefined ? role : { reason: describe(binding, role, subject), rules };
}

/** The rules of the role that a binding refers to; undefined if it does not exist. */
export function referencedRules(
  objects: ObjectReader,
  { cluster, namespace, fallback }: RolePlace,
  { kind, name }: RoleRef,
): readonly PolicyRule[] | undefined {
  if (!isRoleKind(kind)) return undefined;
  const found = objects.get(keyOfRole(kind, name, { cluster, namespace }));
  if (found !== undefined) return rulesOf(found);
  return kind === 'ClusterRole' ? fallback?.(name) : undefined;
}

export function keyOfRole(kind: 'Role' | 'ClusterRole', name: string, { cluster, namespace }: RolePlace): ObjectKey {
  const at = kind === 'Role' ? { ...rbacResources.roles, namespace } : { ...rbacResources.clusterRoles, namespace: '' };
  return { ...at, cluster, name };
}

function subjectsOf(binding: KubeObject): readonly Subject[] {
  return (binding['subjects'] as Subject[] | null | undefined) ?? none;
}

function isMeant(subject: Subject, user: Candidate, bindingNamespace: string): boolean {
  switch (subject.kind) {
    case 'User':
      return subject.name === user.name;
    case 'Group':
      return user.groups.has(subject.name);
    case 'ServiceAccount': {
      const namespace = subject.namespace || bindingNamespace;
      return namespace !== '' && user.name === `system:serviceaccount:${namespace}:${subject.name}`;
    }
    default:
      return false;
  }
}

const described = new WeakMap<Subject, string>();

/** Does not depend on the request, so that bindings that apply in every workspace are described once. */
function describe(binding: KubeObject, role: RoleRef, subject: Subject): string {
  let text = described.get(subject);
  if (text === undefined) described.set(subject, (text = inWords(binding, role, subject)));
  return text;
}

function inWords(binding: KubeObject, role: RoleRef, subject: Subject): string {
  const { name, namespace = '' } = binding.metadata;
  const [kind, bindingName] = namespace === '' ? ['ClusterRoleBinding', name] : ['RoleBinding', `${name}/${namespace}`];
  const subjectName = subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace || namespace}` : subject.name;
  return `RBAC: allowed by ${kind} "${bindingName}" of ${role.kind} "${role.name}" to ${subject.kind} "${subjectName}"`;
}
