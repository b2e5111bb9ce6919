import type { ClusterId, User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { fieldError, type KubeObject, OutOfSteps, rulesOf, StatusError, sameJson, status } from '@capstan/machinery';
import type { Authorizer } from './attributes.ts';
import type { RuleResolver } from './authorizer.ts';
import { compact, type Missing, missingFrom, printList, printRule } from './covers.ts';
import { isRoleKind, printMissing, type RoleRef, rbacGroup, referencedRules } from './resolver.ts';
import type { PolicyRule } from './rule.ts';

/** A write of a role or binding, before it is stored. */
export interface RoleWrite {
  readonly cluster: ClusterId;
  readonly user: User;
  readonly resource: 'roles' | 'clusterroles' | 'rolebindings' | 'clusterrolebindings';
  readonly namespace: string;
  /** The name in the URL: empty for a POST. */
  readonly requestName: string;
  readonly object: KubeObject;
  /** The stored object; undefined for a create. */
  readonly old: KubeObject | undefined;
}

export interface EscalationRules {
  readonly objects: ObjectReader;
  readonly rbac: Authorizer & RuleResolver;
  /** Finds cluster roles that exist in a workspace without being stored there. */
  readonly roleIn?: (cluster: ClusterId, name: string) => readonly PolicyRule[] | undefined;
}

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/**
 * Throws Forbidden if a user would grant permissions that they do not hold. With `escalate` on the role, or `bind` on the role of a
 * binding, they may grant them anyway.
 */
export function checkNoEscalation(write: RoleWrite, rules: EscalationRules): void {
  if (write.user.groups.includes(superuserGroup)) return;
  const isRole = write.resource === 'roles' || write.resource === 'clusterroles';
  if (isRole && may('escalate', write, { rules, resource: write.resource, name: write.requestName })) return;
  if (write.old !== undefined && changesOnlyOwnership(write.object, write.old)) return;
  if (isRole) checkRole(write, rules);
  else checkBinding(write, rules);
}

function checkRole(write: RoleWrite, rules: EscalationRules): void {
  const missing = notHeld(write, rules, rulesOf(write.object));
  if (missing !== undefined) throw refuse(write, missing);
  const aggregates = hasAggregation(write.object) || (write.old !== undefined && hasAggregation(write.old));
  if (aggregates && notHeld(write, rules, everything) !== undefined) {
    throw refuse(write, 'must have cluster-admin privileges to use the aggregationRule');
  }
}

function checkBinding(write: RoleWrite, rules: EscalationRules): void {
  const role: RoleRef = { apiGroup: '', kind: '', name: '', ...(write.object['roleRef'] as Partial<RoleRef> | null | undefined) };
  const resource = role.kind === 'Role' ? 'roles' : 'clusterroles';
  if (isRoleKind(role.kind) && may('bind', write, { rules, resource, group: role.apiGroup, name: role.name })) return;
  const granted = referencedRules(rules.objects, { ...write, fallback: (name) => rules.roleIn?.(write.cluster, name) }, role);
  if (granted === undefined) {
    // Kubernetes names the written resource, not the missing role.
    throw isRoleKind(role.kind)
      ? status.notFound({ group: rbacGroup, resource: write.resource }, role.name)
      : new StatusError({ code: 500, message: printMissing(role) });
  }
  const missing = notHeld(write, rules, granted);
  if (missing !== undefined) throw refuse(write, missing);
}

const refuse = (write: RoleWrite, why: string): Error =>
  status.forbidden({ group: rbacGroup, resource: write.resource }, write.object.metadata.name ?? '', why);

function may(
  verb: 'escalate' | 'bind',
  { cluster, user, namespace }: RoleWrite,
  on: { rules: EscalationRules; resource: string; group?: string; name: string },
): boolean {
  const { rules, resource, group = rbacGroup, name } = on;
  const attributes = { cluster, user, verb, isResource: true, group, version: '*', resource, subresource: '', namespace, name, path: '' };
  return rules.rbac.authorize(attributes).allowed;
}

/** Describes the permissions that the user would grant without holding them; undefined if they hold all. */
function notHeld(
  { user, cluster, namespace, resource }: RoleWrite,
  { rbac }: EscalationRules,
  granted: readonly PolicyRule[],
): string | undefined {
  const held = rbac.rulesFor(user, { cluster, namespace });
  const missing = compared(held.rules, granted);
  if (missing?.total === 0) return undefined;
  const who = `user ${fieldError.quote(user.name)} (groups=${printList(user.groups)})`;
  const unresolved = [...held.missing.map((role) => printMissing(role, resource)), ...(held.cut === undefined ? [] : [held.cut])];
  const problems = unresolved.length === 0 ? '' : `; resolution errors: [${status.aggregate(unresolved)}]`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${printed(missing)}${problems}`;
}

/** Undefined if the rules are too intricate to compare. */
function compared(held: readonly PolicyRule[], granted: readonly PolicyRule[]): Missing | undefined {
  try {
    return missingFrom(held, granted);
  } catch (error) {
    if (error instanceof OutOfSteps) return undefined;
    throw error;
  }
}

/** Nobody reads more of them. */
const mostShown = 500;

function printed(missing: Missing | undefined): string {
  if (missing === undefined) return 'the rules are too intricate to compare with those that are held; write fewer rules, or split the role';
  const lines = [...new Set(compact(missing.pieces(mostShown)).map(printRule))].sort();
  if (missing.total > mostShown) lines.push(`and ${missing.total - mostShown} more`);
  return lines.join('\n');
}

function hasAggregation(role: KubeObject): boolean {
  const rule = role['aggregationRule'] as { clusterRoleSelectors?: unknown[] | null } | null | undefined;
  return (rule?.clusterRoleSelectors?.length ?? 0) > 0;
}

/** The garbage collector may remove owners and finalizers from objects whose permissions it does not hold. */
function changesOnlyOwnership(object: KubeObject, old: KubeObject): boolean {
  const rest = ({ metadata, ...fields }: KubeObject): unknown => {
    const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managedFields, ...metadataRest } = metadata;
    return { ...fields, metadata: metadataRest };
  };
  return sameJson(rest(object), rest(old));
}
