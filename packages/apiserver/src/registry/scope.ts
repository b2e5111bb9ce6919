import type { ClusterId, User } from '@capstan/api';
import type { Gate } from '../authz/attributes.ts';
import type { CacheEntry } from '../cache/entry.ts';
import type { ParsedRequest } from '../request/info.ts';
import type { AdmissionPlugin } from './admission.ts';
import type { Catalog } from './catalog.ts';
import type { Resource } from './resource.ts';

/**
 * The reach of a request: which workspaces, kinds and objects it can access, and who authorizes it. Built once per request, from
 * its place.
 */
export interface Scope {
  /** The id of a workspace, or `*`: never client input. */
  readonly cluster: ClusterId;
  readonly catalog: Catalog;
  /** Scopes with equal keys give access to the same objects of the same kinds. */
  readonly key: string;
  /** Whether an object of a kind is visible; undefined if all are. */
  readonly shows?: (resource: Resource, entry: CacheEntry) => boolean;
  /** The object as displayed in this scope; undefined if it is displayed unchanged. */
  readonly labelled?: (resource: Resource, entry: CacheEntry) => CacheEntry;
  /** The event type for an existing object that starts to match a selector, if it is not ADDED. */
  readonly enters?: 'MODIFIED';
  /** The verb to authorize instead, where that is equivalent. */
  readonly verb?: 'get';
  /** Whether the workspace is closed to everyone: reported only to those who may enter it. */
  readonly isInactive?: boolean;
  /** Authorizes in place of the workspace's own rules. */
  readonly authorizer?: Gate;
  /** Admission for changes made through this scope. */
  readonly admission?: Pick<AdmissionPlugin, 'mutate' | 'validate'>;
  /** The user as known to the rules inside a workspace, once they have access to it. */
  readonly insideAs?: (user: User) => User;
}

/** A request whose place has been resolved. */
export interface RequestInfo extends ParsedRequest {
  readonly cluster: ClusterId;
  /** The reach of the request. Undefined for plain requests, which see the root workspace as Kubernetes would show it. */
  readonly scope?: Scope;
  /** The objects that the user can see; all in the scope when absent. */
  readonly visible?: Visible;
}

export interface Visible {
  /** Users with equal keys see the same objects. */
  readonly key: string;
  readonly shows: (entry: CacheEntry) => boolean;
}
