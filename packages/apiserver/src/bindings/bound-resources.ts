import { fieldsOf, itemsOf, textOf, textsOf } from '@capstan/machinery';

export const apiBindings = { group: 'apis.kcp.io', resource: 'apibindings' } as const;

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
  readonly offeredBy?: { readonly provider: string; readonly exportName: string };
  /** The binding is being deleted, so no new objects can be created. */
  readonly isEnding?: true;
}

/** The kinds in the status of an APIBinding. */
export function boundResources(status: unknown): BoundResource[] {
  return itemsOf(fieldsOf(status)['boundResources']).map((bound) => {
    const schema = fieldsOf(bound['schema']);
    return {
      group: textOf(bound['group']),
      resource: textOf(bound['resource']),
      schema: textOf(schema['UID']),
      identity: textOf(schema['identityHash']),
      // Kinds stored in the workspace list their storage versions.
      ...(textsOf(bound['storageVersions']).length === 0 && { isVirtual: true as const }),
    };
  });
}
