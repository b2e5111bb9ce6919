import { fieldsOf, itemsOf, textOf, textsOf } from '@capstan/machinery';

export const apiBindings = { group: 'apis.kcp.io', resource: 'apibindings' } as const;

/** A kind as a binding names it. */
export interface BoundResource {
  readonly group: string;
  readonly resource: string;
  /** The UID of the schema: what it says never changes. */
  readonly schema: string;
  readonly identity: string;
  /** Its objects lie with the provider, and are read from there. */
  readonly isVirtual?: true;
  /** The export that offers it, for those. */
  readonly offeredBy?: { readonly provider: string; readonly exportName: string };
  /** It is on its way out: nothing new is made of it. */
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
      // What is stored in the workspace says in which versions.
      ...(textsOf(bound['storageVersions']).length === 0 && { isVirtual: true as const }),
    };
  });
}
