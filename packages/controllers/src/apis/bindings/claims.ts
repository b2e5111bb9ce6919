import { holds, lacks, type NewCondition } from '../../kcp-conditions.ts';
import type { ApiBinding, Claim, ScopedClaim } from '../kinds.ts';

/** So many are told of; there may be any number. */
const shown = 10;

const keyOf = ({ group = '', resource, identityHash = '' }: Claim): string => `${resource}/${group}/${identityHash}`;

/** How the claims that a binding accepts fit those that its export makes. */
export function claimsOf(
  binding: ApiBinding,
  claimed: readonly Claim[],
): { readonly applied: readonly ScopedClaim[]; readonly conditions: readonly NewCondition[] } {
  const wanted = new Set(claimed.map(keyOf));
  const accepted = (binding.spec?.permissionClaims ?? []).filter(({ state }) => state === 'Accepted');
  const unexpected = accepted.filter((claim) => !wanted.has(keyOf(claim))).sort(byKey);
  const applied = accepted
    .filter((claim) => wanted.has(keyOf(claim)))
    .sort(byKey)
    .map(({ state: _state, ...claim }) => claim);
  return { applied, conditions: [validity(unexpected), holds('PermissionClaimsApplied')] };
}

const byKey = (a: Claim, b: Claim): number => (keyOf(a) < keyOf(b) ? -1 : 1);

function validity(unexpected: readonly Claim[]): NewCondition {
  if (unexpected.length === 0) return holds('PermissionClaimsValid');
  const each = unexpected
    .slice(0, shown)
    .map(({ group = '', resource, identityHash = '' }) => `unexpected/invalid claim for ${resource}.${group} (identity "${identityHash}")`);
  const list = each.length === 1 ? each[0] : `[${each.join(', ')}]`;
  const message = `${unexpected.length} unexpected and/or invalid permission claims (showing first ${each.length}): ${list}`;
  return lacks('PermissionClaimsValid', { reason: 'InvalidPermissionClaims', message });
}
