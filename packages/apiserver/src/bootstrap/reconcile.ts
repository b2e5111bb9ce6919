import type { ClusterId } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { type GroupResource, type KubeObject, rulesOf, sameJson } from '@capstan/machinery';
import { uncovered } from '../authz/covers.ts';
import { rbacResources, type Subject } from '../authz/resolver.ts';
import { autoupdateSpecAnnotation, mandatoryFlowControl } from './flow-control.ts';
import { autoupdateAnnotation } from './rbac.ts';

export type Repair =
  | { readonly action: 'create'; readonly resource: GroupResource; readonly object: KubeObject }
  | { readonly action: 'update'; readonly resource: GroupResource; readonly object: KubeObject }
  /** Deletes `old`, then creates `object`, because the role of a binding is immutable. */
  | { readonly action: 'recreate'; readonly resource: GroupResource; readonly object: KubeObject; readonly old: KubeObject };

const resources: Readonly<Record<string, GroupResource>> = {
  Namespace: { group: '', resource: 'namespaces' },
  ClusterRole: rbacResources.clusterRoles,
  ClusterRoleBinding: rbacResources.clusterRoleBindings,
  Role: rbacResources.roles,
  RoleBinding: rbacResources.roleBindings,
  FlowSchema: { group: 'flowcontrol.apiserver.k8s.io', resource: 'flowschemas' },
  PriorityLevelConfiguration: { group: 'flowcontrol.apiserver.k8s.io', resource: 'prioritylevelconfigurations' },
  ServiceCIDR: { group: 'networking.k8s.io', resource: 'servicecidrs' },
  PriorityClass: { group: 'scheduling.k8s.io', resource: 'priorityclasses' },
};

/**
 * The writes that give a workspace its default objects. Roles and bindings get missing rules and subjects back and keep added ones, unless
 * they are annotated with `autoupdate: "false"`.
 */
export function repairs(expected: readonly KubeObject[], objects: ObjectReader, cluster: ClusterId): Repair[] {
  const list: Repair[] = [];
  for (const object of expected) {
    const resource = resources[object.kind]!;
    const { name = '', namespace = '' } = object.metadata;
    const existing = objects.get({ ...resource, cluster, namespace, name });
    if (existing === undefined) {
      list.push({ action: 'create', resource, object });
      continue;
    }
    const repaired = repairedObject(object, existing);
    if (repaired === undefined) continue;
    if (repaired === object) list.push({ action: 'recreate', resource, object, old: existing });
    else list.push({ action: 'update', resource, object: repaired });
  }
  return list;
}

/**
 * The existing object with its missing parts added, the expected object if it must replace it, or undefined if there is nothing to repair.
 */
function repairedObject(expected: KubeObject, existing: KubeObject): KubeObject | undefined {
  switch (expected.kind) {
    case 'ClusterRole':
    case 'Role':
      return isProtected(existing) ? undefined : changed(existing, repairedRole(expected, existing));
    case 'ClusterRoleBinding':
    case 'RoleBinding':
      if (isProtected(existing)) return undefined;
      if (!sameJson(expected['roleRef'], existing['roleRef'])) return expected;
      return changed(existing, repairedBinding(expected, existing));
    case 'FlowSchema':
    case 'PriorityLevelConfiguration':
      return changed(existing, repairedFlowControl(expected, existing));
    default:
      return undefined;
  }
}

const isProtected = ({ metadata }: KubeObject): boolean => metadata.annotations?.[autoupdateAnnotation] === 'false';

const changed = (before: KubeObject, after: KubeObject): KubeObject | undefined => (sameJson(before, after) ? undefined : after);

function withExpectedMetadata(expected: KubeObject, existing: KubeObject): KubeObject {
  const { labels, annotations } = expected.metadata;
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      ...(labels && { labels: { ...labels, ...existing.metadata.labels } }),
      ...(annotations && { annotations: { ...annotations, ...existing.metadata.annotations } }),
    },
  };
}

function repairedRole(expected: KubeObject, existing: KubeObject): KubeObject {
  const role = withExpectedMetadata(expected, existing);
  if (expected['aggregationRule'] !== undefined) return { ...role, aggregationRule: mergedAggregation(expected, existing) };
  const { aggregationRule: _unexpected, ...rest } = role;
  const missing = uncovered(rulesOf(existing), rulesOf(expected));
  return { ...(rest as KubeObject), ...(missing.length > 0 && { rules: [...rulesOf(existing), ...missing] }) };
}

function mergedAggregation(expected: KubeObject, existing: KubeObject): { clusterRoleSelectors: unknown[] } {
  const selectors = (role: KubeObject): unknown[] =>
    (role['aggregationRule'] as { clusterRoleSelectors?: unknown[] } | undefined)?.clusterRoleSelectors ?? [];
  const present = selectors(existing);
  const missing = selectors(expected).filter((wanted) => !present.some((selector) => sameJson(selector, wanted)));
  return { clusterRoleSelectors: [...present, ...missing] };
}

function repairedBinding(expected: KubeObject, existing: KubeObject): KubeObject {
  const subjects = (binding: KubeObject): Subject[] => (binding['subjects'] as Subject[] | undefined) ?? [];
  const present = subjects(existing);
  const missing = subjects(expected).filter((wanted) => !present.some((subject) => sameJson(subject, wanted)));
  return { ...withExpectedMetadata(expected, existing), ...(missing.length > 0 && { subjects: [...present, ...missing] }) };
}

function repairedFlowControl(expected: KubeObject, existing: KubeObject): KubeObject {
  const isOurs =
    mandatoryFlowControl.has(existing.metadata.name ?? '') || existing.metadata.annotations?.[autoupdateSpecAnnotation] === 'true';
  return isOurs ? { ...withExpectedMetadata(expected, existing), spec: expected['spec'] } : existing;
}
