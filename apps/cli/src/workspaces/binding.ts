import type { Client, Resource } from '@capstan/client';
import { type Condition, findCondition } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

/** Access to other resources that an export asks for. */
export interface PermissionClaim {
  readonly group?: string;
  readonly resource: string;
  readonly identityHash?: string;
  readonly verbs?: readonly string[];
}

export interface BoundClaim extends PermissionClaim {
  readonly state: 'Accepted' | 'Rejected';
  readonly selector?: object;
}

export interface ApiBinding extends KubeObject {
  readonly spec: {
    readonly reference: { readonly export: { readonly path?: string; readonly name: string } };
    readonly permissionClaims?: readonly BoundClaim[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly boundResources?: readonly { readonly group?: string; readonly resource: string }[];
    readonly exportPermissionClaims?: readonly PermissionClaim[];
    readonly conditions?: Condition[];
  };
}

const type = { group: 'apis.kcp.io', version: 'v1alpha2', resource: 'apibindings', namespaced: false };

export const bindingsOf = (client: Client): Resource<ApiBinding> => client.resource<ApiBinding>(type);

/** `resource.group`, with `core` for the empty group. */
export const claimName = ({ group, resource }: Pick<PermissionClaim, 'group' | 'resource'>): string => `${resource}.${group || 'core'}`;

export function parseClaimName(text: string): { group: string; resource: string } {
  const dot = text.indexOf('.');
  const group = dot < 0 ? 'core' : text.slice(dot + 1);
  return { group: group === 'core' ? '' : group, resource: dot < 0 ? text : text.slice(0, dot) };
}

/** The claims of the binding with one more decided, for all verbs that the claim asks for and for all objects. */
export function decided(binding: ApiBinding, claim: PermissionClaim, state: BoundClaim['state']): BoundClaim[] {
  const others = (binding.spec.permissionClaims ?? []).filter((one) => !isSame(one, claim));
  const { verbs = ['*'], ...rest } = claim;
  return [...others, { ...rest, verbs, state, selector: { matchAll: true } }];
}

export function isSame(a: PermissionClaim, b: PermissionClaim): boolean {
  return claimName(a) === claimName(b) && (a.identityHash ?? '') === (b.identityHash ?? '');
}

export const stateOf = (binding: ApiBinding, claim: PermissionClaim): string =>
  binding.spec.permissionClaims?.find((one) => isSame(one, claim))?.state ?? 'Undecided';

/** Why a binding is not bound yet, according to its conditions. */
export function whyNotBound({ status }: ApiBinding): string {
  const conditions = status?.conditions ?? [];
  const failing = conditions.filter((condition) => condition.status === 'False' && condition.message !== '');
  const ready = findCondition(conditions, 'Ready');
  return (failing.length > 0 ? failing : ready === undefined ? [] : [ready])
    .map(({ type: what, message }) => `${what}: ${message}`)
    .join('; ');
}
