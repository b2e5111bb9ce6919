import type { User } from '@capstan/api';
import type { Gate } from '../authz/attributes.ts';
import type { CacheEntry } from '../cache/entry.ts';
import type { ParsedRequest } from '../request/info.ts';
import type { AdmissionPlugin } from './admission.ts';
import type { Catalog } from './catalog.ts';
import type { Resource } from './resource.ts';

/** What a request can reach: which workspaces, which kinds, which objects of them, and who decides about permission. Made once per request, from its place. */
export interface Scope {
  /** The id of a workspace, or `*`: never something that the client wrote. */
  readonly cluster: string;
  readonly catalog: Catalog;
  /** Two scopes with the same key show the same objects of the same kinds. */
  readonly key: string;
  /** Objects of one kind that are shown; absent when all are. */
  readonly shows?: (resource: Resource, entry: CacheEntry) => boolean;
  /** The object as it is shown; absent when it is shown as it is. */
  readonly labelled?: (resource: Resource, entry: CacheEntry) => CacheEntry;
  /** How a watch is told of an object that changes so that its selector matches, where it is not told that it is new. */
  readonly enters?: 'MODIFIED';
  /** What is asked instead, where it comes to the same. */
  readonly verb?: 'get';
  /** Decides in place of the workspace's own rules. */
  readonly authorizer?: Gate;
  /** What holds for changes that are made through it. */
  readonly admission?: Pick<AdmissionPlugin, 'mutate' | 'validate'>;
  /** As whom the user is known to the rules inside a workspace, having been let in. */
  readonly insideAs?: (user: User) => User;
}

/** A request whose place has been looked up. */
export interface RequestInfo extends ParsedRequest {
  /** What the request can reach. Absent for plain requests, which see the root workspace as Kubernetes would show it. */
  readonly scope?: Scope;
}
