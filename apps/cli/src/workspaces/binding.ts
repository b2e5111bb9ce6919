import { type ApiBinding, apiBindingKind, type PermissionClaim } from '@capstan/api';
import type { Client, Resource } from '@capstan/client';

export type BoundClaim = NonNullable<NonNullable<ApiBinding['spec']>['permissionClaims']>[number];

export const bindingsOf = (client: Client): Resource<ApiBinding> => client.resource(apiBindingKind);

/** `resource.group`, with `core` for the empty group. */
export const claimName = ({ group, resource }: Pick<PermissionClaim, 'group' | 'resource'>): string => `${resource}.${group || 'core'}`;

export function parseClaimName(text: string): { group: string; resource: string } {
  const dot = text.indexOf('.');
  const group = dot < 0 ? 'core' : text.slice(dot + 1);
  return { group: group === 'core' ? '' : group, resource: dot < 0 ? text : text.slice(0, dot) };
}

/** The claims of the binding with one more decided, for all verbs that the claim asks for and for all objects. */
export function decided(binding: ApiBinding, claim: PermissionClaim, state: BoundClaim['state']): BoundClaim[] {
  const others = (binding.spec?.permissionClaims ?? []).filter((one) => !isSame(one, claim));
  return [...others, { ...claim, state, selector: { matchAll: true } }];
}

export function isSame(a: PermissionClaim, b: PermissionClaim): boolean {
  return claimName(a) === claimName(b) && (a.identityHash ?? '') === (b.identityHash ?? '');
}

export const stateOf = (binding: ApiBinding, claim: PermissionClaim): string =>
  binding.spec?.permissionClaims?.find((one) => isSame(one, claim))?.state ?? 'Undecided';

/** Why a binding is not bound yet, according to its conditions. */
export function whyNotBound({ status }: ApiBinding): string {
  const conditions = status?.conditions ?? [];
  const failing = conditions.filter((condition) => condition.status === 'False' && condition.message !== '');
  const ready = conditions.find(({ type }) => type === 'Ready');
  return (failing.length > 0 ? failing : ready === undefined ? [] : [ready])
    .map(({ type: what, message }) => `${what}: ${message ?? ''}`)
    .join('; ');
}
