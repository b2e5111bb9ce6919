import type { KubeObject } from '../json.ts';
import { selectorOfObject } from '../selector/object.ts';
import type { LabelSelectorObject } from '../selector/selector-object.ts';
import { type PolicyRule, rulesOf } from './rule.ts';

/**
 * The rules of an aggregated ClusterRole: those of the roles that its selectors match, sorted by role name; undefined if it does not
 * aggregate.
 */
export function aggregateRules(clusterRole: KubeObject, all: readonly KubeObject[]): PolicyRule[] | undefined {
  const aggregation = clusterRole['aggregationRule'] as { clusterRoleSelectors?: LabelSelectorObject[] | null } | null | undefined;
  if (aggregation === undefined || aggregation === null) return undefined;
  const ordered = all.filter((role) => role.metadata.name !== clusterRole.metadata.name).sort(byName);
  const rules: PolicyRule[] = [];
  const seen = new Set<string>();
  for (const object of aggregation.clusterRoleSelectors ?? []) {
    const selector = selectorOfObject(object);
    for (const role of ordered) {
      if (!selector.matches(role.metadata.labels)) continue;
      for (const rule of rulesOf(role)) {
        const text = canonical(rule);
        if (seen.has(text)) continue;
        seen.add(text);
        rules.push(rule);
      }
    }
  }
  return rules;
}

/**
 * The aggregated ClusterRoles of a workspace whose rules are out of date, with their new rules. One pass may require another (edit is part
 * of admin): call it again after writing, until it returns nothing.
 */
export function staleAggregations(all: readonly KubeObject[]): { role: KubeObject; rules: PolicyRule[] }[] {
  const stale: { role: KubeObject; rules: PolicyRule[] }[] = [];
  for (const role of all) {
    const rules = aggregateRules(role, all);
    if (rules !== undefined && !sameRules(rules, rulesOf(role))) stale.push({ role, rules });
  }
  return stale;
}

/** Two rules are equal if their lists are; an absent list equals an empty one. */
function canonical({ verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): string {
  return JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);
}

function sameRules(left: readonly PolicyRule[], right: readonly PolicyRule[]): boolean {
  return left.length === right.length && left.every((rule, index) => canonical(rule) === canonical(right[index]!));
}

function byName(left: KubeObject, right: KubeObject): number {
  const a = left.metadata.name ?? '';
  const b = right.metadata.name ?? '';
  return a < b ? -1 : a > b ? 1 : 0;
}
