import type { KubeObject } from '../json.ts';

/** A rule of a Role or ClusterRole, as it is written in the object. Stored ones have verbs; what a client sends may lack even those. */
export interface PolicyRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** Empty when it has none, and for a role whose rules are null. */
export function rulesOf(role: KubeObject): readonly PolicyRule[] {
  return (role['rules'] as PolicyRule[] | null | undefined) ?? [];
}
