import type { ApiBinding, ApiExport } from '@capstan/api';

type Accepted = NonNullable<NonNullable<ApiBinding['spec']>['permissionClaims']>[number];

/** All claims of an export as accepted: the author of the workspace type decided so. The export may ask for less than all objects. */
export function acceptedClaims({ spec }: ApiExport): Accepted[] {
  return (spec?.permissionClaims ?? []).map(({ defaultSelector = { matchAll: true }, ...claim }) => ({
    ...claim,
    selector: defaultSelector,
    state: 'Accepted',
  }));
}

export function hasClaims({ spec }: ApiBinding, exported: ApiExport): boolean {
  return sorted(spec?.permissionClaims ?? []) === sorted(acceptedClaims(exported));
}

function sorted(claims: readonly Accepted[]): string {
  const texts = claims.map(({ group = '', resource, identityHash = '', verbs, selector, state }) =>
    JSON.stringify([group, resource, identityHash, [...verbs].sort(), selector, state]),
  );
  return texts.sort().join('\n');
}
