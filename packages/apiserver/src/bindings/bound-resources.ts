import { type ApiBinding, apiBindingKind, type ClusterId, groupResource } from '@capstan/api';

export const apiBindings = groupResource(apiBindingKind);

/** A kind in the status of a binding. */
export interface BoundResource {
  readonly group: string;
  readonly resource: string;
  /** The UID of the schema, which is immutable. */
  readonly schema: string;
  readonly identity: string;
  /** The provider keeps its objects, and reads are served from there. */
  readonly isVirtual?: true;
  /** The export of a virtual kind. */
  readonly offeredBy?: { readonly provider: ClusterId; readonly exportName: string };
  /** The binding is being deleted, so no new objects can be created. */
  readonly isEnding?: true;
}

/** The kinds in the status of an APIBinding. */
export function boundResources(status: ApiBinding['status']): BoundResource[] {
  return (status?.boundResources ?? []).map(({ group, resource, schema, storageVersions = [] }) => ({
    group,
    resource,
    schema: schema.UID,
    identity: schema.identityHash,
    // Kinds stored in the workspace list their storage versions.
    ...(storageVersions.length === 0 && { isVirtual: true as const }),
  }));
}
