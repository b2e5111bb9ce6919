import type { User } from '@capstan/api';

/** What a request wants to do, as far as permission goes. */
export interface Attributes {
  /** The workspace. */
  readonly cluster: string;
  readonly user: User;
  /** get, list, watch, create, update, patch, delete, deletecollection, or an HTTP method in lower case for paths that are no resource. */
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The path, for what is no resource. */
  readonly path: string;
  /** What a list, a watch or a deletion of many selects, as it was written. Roles do not look at it. */
  readonly selectors?: { readonly field: string; readonly label: string };
}

/** What says nothing about what is wanted. */
export const nothingWanted = {
  isResource: false,
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  path: '',
} as const satisfies Partial<Attributes>;

export type Decision =
  | { readonly allowed: true; readonly reason: string }
  | {
      readonly allowed: false;
      readonly reason: string;
      /** Nobody who comes after may allow it. */
      readonly denied?: boolean;
      /** Why it could not be found out. */
      readonly error?: string;
    };

/** Decides who may do what. Only where somebody else is asked does it take time. */
export interface Gate {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
  explain?(attributes: Attributes): Readonly<Record<string, Decision>>;
}

/** Decides from what is in memory: it is on the path of every request, so it is never a promise. */
export interface Authorizer extends Gate {
  authorize(attributes: Attributes): Decision;
  /** How it came to its decision, for the audit log: each step under the name that it has there. */
  explain?(attributes: Attributes): Readonly<Record<string, Decision>>;
}
