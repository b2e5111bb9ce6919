import { isObject, type KubeObject } from '../json.ts';

/** Restricts a quota to some objects. */
export interface Scope {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface QuotaSpec {
  readonly scopes?: readonly string[];
  readonly scopeSelector?: { readonly matchExpressions?: readonly Scope[] };
}

/** The scopes of a ResourceQuota; an object must match all of them. */
export function quotaScopes(quota: KubeObject): readonly Scope[] {
  const spec: QuotaSpec = isObject(quota['spec']) ? (quota['spec'] as QuotaSpec) : {};
  const scopes = (spec.scopes ?? []).map((scopeName): Scope => ({ scopeName, operator: 'Exists' }));
  return [...scopes, ...(spec.scopeSelector?.matchExpressions ?? [])];
}

/** Whether one of an object's names matches; an object may have none. */
export function fitsNames({ operator, values = [] }: Scope, names: readonly string[]): boolean {
  switch (operator) {
    case 'Exists':
      return names.length > 0;
    case 'DoesNotExist':
      return names.length === 0;
    case 'In':
      return names.some((name) => values.includes(name));
    case 'NotIn':
      return names.length === 0 || names.some((name) => !values.includes(name));
    default:
      return false;
  }
}
