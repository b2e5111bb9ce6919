import type { ClusterId, User } from '@capstan/api';

/** The attributes of a request that authorization depends on. Those with another type for the workspace describe a request that is not authorized here. */
export interface Attributes<Cluster extends string = ClusterId> {
  /** The workspace. */
  readonly cluster: Cluster;
  readonly user: User;
  /** get, list, watch, create, update, patch, delete, deletecollection; the lower-case HTTP method for non-resource paths. */
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The path of a non-resource request. */
  readonly path: string;
  /** The selectors of a list, watch or deletecollection, unparsed. RBAC ignores them. */
  readonly selectors?: { readonly field: string; readonly label: string };
}

/** Empty values to build attributes from. */
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
      /** No later authorizer may allow the request. */
      readonly denied?: boolean;
      /** Why no decision could be made. */
      readonly error?: string;
    };

/** Decides whether requests are allowed. Asynchronous only when a webhook must be called. */
export interface Gate {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
  explain?(attributes: Attributes): Readonly<Record<string, Decision>>;
}

/** Decides from memory, so it is synchronous: every request passes through it. */
export interface Authorizer extends Gate {
  authorize(attributes: Attributes): Decision;
  /** Explains a decision for the audit log: each step under the name it has there. */
  explain?(attributes: Attributes): Readonly<Record<string, Decision>>;
}
