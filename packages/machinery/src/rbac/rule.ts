import type { KubeObject } from '../json.ts';

/** A rule of a Role or ClusterRole as written in the object. Stored rules have verbs; those from a client may lack even that. */
export interface PolicyRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** Empty if the role has no rules or null. */
export function rulesOf(role: KubeObject): readonly PolicyRule[] {
  return (role['rules'] as PolicyRule[] | null | undefined) ?? [];
}
