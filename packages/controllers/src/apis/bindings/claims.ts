import { type ApiBinding, holds, lacks, type NewCondition, type PermissionClaim, type ScopedClaim } from '@capstan/api';
import { sameJson } from '@capstan/machinery';

/** How many are listed in messages; there may be any number. */
const shown = 10;
const shownMismatches = 5;

const keyOf = ({ group = '', resource, identityHash = '' }: PermissionClaim): string => `${resource}/${group}/${identityHash}`;

/** Compares the claims that a binding accepts with those that its export makes. */
export function claimsOf(
  binding: ApiBinding,
  claimed: readonly PermissionClaim[],
): { readonly applied: readonly ScopedClaim[]; readonly conditions: readonly NewCondition[] } {
  const wanted = new Map(claimed.map((claim) => [keyOf(claim), claim]));
  const accepted = (binding.spec?.permissionClaims ?? []).filter(({ state }) => state === 'Accepted');
  const unexpected = accepted.filter((claim) => !wanted.has(keyOf(claim))).sort(byKey);
  const applied = accepted
    .filter((claim) => wanted.has(keyOf(claim)))
    .sort(byKey)
    .map(({ state: _state, ...claim }) => claim);
  const mismatches = applied.flatMap((claim) => mismatchOf(claim, wanted.get(keyOf(claim))!));
  return { applied, conditions: [mismatches.length > 0 ? mismatched(mismatches) : validity(unexpected), holds('PermissionClaimsApplied')] };
}

const byKey = (a: PermissionClaim, b: PermissionClaim): number => (keyOf(a) < keyOf(b) ? -1 : 1);

function validity(unexpected: readonly PermissionClaim[]): NewCondition {
  if (unexpected.length === 0) return holds('PermissionClaimsValid');
  const each = unexpected
    .slice(0, shown)
    .map(({ group = '', resource, identityHash = '' }) => `unexpected/invalid claim for ${resource}.${group} (identity "${identityHash}")`);
  const list = each.length === 1 ? each[0] : `[${each.join(', ')}]`;
  const message = `${unexpected.length} unexpected and/or invalid permission claims (showing first ${each.length}): ${list}`;
  return lacks('PermissionClaimsValid', { reason: 'InvalidPermissionClaims', message });
}

/** Reports where a consumer accepts something else than the provider asks for. The binding works all the same, with fewer rights. */
function mismatchOf({ group = '', resource, verbs, selector }: ScopedClaim, claimed: PermissionClaim): string[] {
  const differs = [
    ...(isSame(verbs, claimed.verbs) ? [] : [`verbs: accepted [${verbs.join(' ')}], exported [${claimed.verbs.join(' ')}]`]),
    ...(claimed.defaultSelector === undefined || sameJson(selector, claimed.defaultSelector)
      ? []
      : ['selector differs from defaultSelector']),
  ];
  return differs.length === 0 ? [] : [`${resource}.${group} (${differs.join('; ')})`];
}

function isSame(accepted: readonly string[], claimed: readonly string[]): boolean {
  return accepted.includes('*') || claimed.includes('*') || new Set(accepted).symmetricDifference(new Set(claimed)).size === 0;
}

function mismatched(mismatches: readonly string[]): NewCondition {
  const each = mismatches.slice(0, shownMismatches);
  const message = `${mismatches.length} permission claim(s) have mismatched verbs or selectors (showing first ${each.length}): ${each.join(', ')}`;
  return lacks('PermissionClaimsValid', { severity: 'Warning', reason: 'PermissionClaimsMismatch', message });
}
