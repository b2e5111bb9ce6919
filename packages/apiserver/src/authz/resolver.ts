import type { User } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
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

/** The rules of one role, by way of the binding that gives them to a user. */
export interface Grant {
  /** Why something is allowed that these rules allow. */
  readonly reason: string;
  readonly rules: readonly PolicyRule[];
}

export interface Grants {
  readonly grants: readonly Grant[];
  /** Roles that bindings name and that are not there. */
  readonly missing: readonly MissingRole[];
}

/** What a binding names, when no role is to be found there. */
export interface MissingRole {
  readonly kind: string;
  readonly name: string;
}

export const isRoleKind = (kind: string): kind is 'Role' | 'ClusterRole' => kind === 'Role' || kind === 'ClusterRole';

/** The reason in words. `resource` is how the role is called: by its kind when absent. */
export function printMissing({ kind, name }: MissingRole, resource = kind.toLowerCase()): string {
  if (!isRoleKind(kind)) return `unsupported role reference kind: ${fieldError.quote(kind)}`;
  return `${resource}.${rbacGroup} "${name}" not found`;
}

const none: readonly never[] = [];

/** Where roles and bindings are looked for. */
export interface RolePlace {
  readonly cluster: string;
  readonly namespace: string;
  /** Finds cluster roles that are there without being stored. */
  readonly fallback?: ((name: string) => readonly PolicyRule[] | undefined) | undefined;
}

/** What the bindings of the workspace give a user: those of the whole workspace when the namespace is empty, those of the namespace otherwise. */
export function grantsIn(objects: ObjectReader, { cluster, namespace, fallback }: RolePlace, user: User): Grants {
  const bindings =
    namespace === ''
      ? objects.list(rbacResources.clusterRoleBindings, cluster)
      : objects.list(rbacResources.roleBindings, cluster, namespace);
  const grants: Grant[] = [];
  const missing: MissingRole[] = [];
  for (const binding of bindings) {
    const found = grantOf(binding, user, (role) => referencedRules(objects, { cluster, namespace, fallback }, role));
    if (found === undefined) continue;
    if ('rules' in found) grants.push(found);
    else missing.push(found);
  }
  return { grants, missing };
}

/** What one binding gives a user: undefined when the user is not meant, the role's name when it is not to be found. */
export function grantOf(
  binding: KubeObject,
  user: User,
  rulesOfRole: (role: RoleRef) => readonly PolicyRule[] | undefined,
): Grant | MissingRole | undefined {
  const { namespace = '' } = binding.metadata;
  const subject = subjectsOf(binding).find((candidate) => isMeant(candidate, user, namespace));
  if (subject === undefined) return undefined;
  const role = binding['roleRef'] as RoleRef;
  const rules = rulesOfRole(role);
  return rules === undefined ? role : { reason: describe(binding, role, subject), rules };
}

/** The rules of the role that a binding names; undefined when it is not there. */
export function referencedRules(
  objects: ObjectReader,
  { cluster, namespace, fallback }: RolePlace,
  { kind, name }: RoleRef,
): readonly PolicyRule[] | undefined {
  if (!isRoleKind(kind)) return undefined;
  const at = kind === 'Role' ? { ...rbacResources.roles, namespace } : { ...rbacResources.clusterRoles, namespace: '' };
  const found = objects.get({ ...at, cluster, name });
  if (found !== undefined) return rulesOf(found);
  return kind === 'ClusterRole' ? fallback?.(name) : undefined;
}

function subjectsOf(binding: KubeObject): readonly Subject[] {
  return (binding['subjects'] as Subject[] | null | undefined) ?? none;
}

function isMeant(subject: Subject, user: User, bindingNamespace: string): boolean {
  switch (subject.kind) {
    case 'User':
      return subject.name === user.name;
    case 'Group':
      return user.groups.includes(subject.name);
    case 'ServiceAccount': {
      const namespace = subject.namespace || bindingNamespace;
      return namespace !== '' && user.name === `system:serviceaccount:${namespace}:${subject.name}`;
    }
    default:
      return false;
  }
}

const described = new WeakMap<Subject, string>();

/** The same text whoever asks where: what holds in every workspace is described once. */
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
