import type { ApiBinding, PermissionClaim, ScopedClaim } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { claimsOf } from './claims.ts';

const all = { matchAll: true };
const gold = { matchLabels: { tier: 'gold' } };

function validity(claimed: PermissionClaim, accepted: Partial<ScopedClaim>): object | undefined {
  const claim = { ...claimed, selector: all, ...accepted, state: 'Accepted' as const };
  const binding = { spec: { permissionClaims: [claim] } } as unknown as ApiBinding;
  return claimsOf(binding, [claimed]).conditions.find(({ type }) => type === 'PermissionClaimsValid');
}

describe('an accepted claim', () => {
  const configmaps = { resource: 'configmaps', verbs: ['get', 'list'] };

  test('is valid if the export asks for the same, in any order', () => {
    expect(validity(configmaps, { verbs: ['list', 'get'] })).toEqual({ type: 'PermissionClaimsValid', status: 'True' });
  });

  test('is valid if either side has all verbs', () => {
    expect(validity(configmaps, { verbs: ['*'] })).toMatchObject({ status: 'True' });
    expect(validity({ ...configmaps, verbs: ['*'] }, { verbs: ['get'] })).toMatchObject({ status: 'True' });
  });

  test('is valid for any objects if the export does not select some', () => {
    expect(validity(configmaps, { selector: gold })).toMatchObject({ status: 'True' });
  });

  test('leads to a warning if it allows something else', () => {
    expect(validity({ ...configmaps, defaultSelector: gold }, { verbs: ['get'] })).toEqual({
      type: 'PermissionClaimsValid',
      status: 'False',
      severity: 'Warning',
      reason: 'PermissionClaimsMismatch',
      message:
        '1 permission claim(s) have mismatched verbs or selectors (showing first 1): ' +
        'configmaps. (verbs: accepted [get], exported [get list]; selector differs from defaultSelector)',
    });
  });
});
