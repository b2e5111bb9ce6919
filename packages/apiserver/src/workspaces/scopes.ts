import { asClusterId, type ClusterId, controllerManagerUser, everyCluster, rootCluster, superuserGroup, type User } from '@capstan/api';
import { status } from '@capstan/machinery';
import { homeOf } from '../authn/service-account.ts';
import { forbidden } from '../authz/wording.ts';
import { attributesOf } from '../registry/attributes.ts';
import type { Catalog } from '../registry/catalog.ts';
import type { Catalogs } from '../registry/catalogs.ts';
import type { RequestInfo, Scope, Visible } from '../registry/scope.ts';
import type { ParsedRequest } from '../request/info.ts';
import type { Place, PlacePath, ViewName } from '../request/place.ts';
import { logicalClusters, type Tree } from './tree.ts';

/** A view across several workspaces, for the provider of an export or for controllers that initialize or terminate workspaces. */
export interface WorkspaceView {
  /** `cluster` is the id of a workspace or `*`. Throws a status error if the user may not use the view. */
  scope(request: { readonly of: readonly string[]; readonly cluster: ClusterId; readonly info: ParsedRequest; readonly user: User }): Scope;
}

export interface ScopesOptions {
  readonly tree: Tree;
  readonly catalogs: Catalogs;
  /** The kinds that can be requested across all workspaces. */
  readonly wildcard: () => Catalog;
  readonly views: ReadonlyMap<ViewName, WorkspaceView>;
  /** Adds claim labels to served objects. */
  readonly labelled: NonNullable<Scope['labelled']>;
  /** To be set by those who know the rights of users. */
  readonly visibility: Visibility;
}

export interface Visibility {
  /** Which objects of the root workspace a user can see; all when absent. */
  inRoot?: (info: ParsedRequest, user: User) => Visible | undefined;
}

/** Resolves the workspace or view of a request. */
export class Scopes {
  readonly #options: ScopesOptions;

  constructor(options: ScopesOptions) {
    this.#options = options;
  }

  /** The request with its workspace and the kinds it can reach. Nothing else makes the id of a workspace of what a client sent. */
  enter(info: ParsedRequest, user: User): RequestInfo {
    const place = placeOf(info.place, user);
    if (place.kind === 'plain') return this.#inRoot(info as RequestInfo, user);
    const cluster = this.#resolve(place, info, user);
    const isInactive = this.#options.tree.isInactive(cluster) && !isAboutItself(info);
    if (place.kind === 'workspace') {
      if (cluster === everyCluster) return { ...info, cluster, scope: { cluster, catalog: this.#options.wildcard(), key: cluster } };
      const { catalogs, labelled } = this.#options;
      const scope = { cluster, catalog: catalogs.of(cluster), key: cluster, labelled, isInactive };
      return cluster === rootCluster ? this.#inRoot({ ...info, cluster, scope }, user) : { ...info, cluster, scope };
    }
    const view = this.#options.views.get(place.view);
    if (view === undefined) throw status.noSuchResource();
    const scope = { ...view.scope({ of: place.of, cluster, info, user }), isInactive };
    return { ...info, cluster: scope.cluster, scope, ...(scope.verb !== undefined && { verb: scope.verb }) };
  }

  /** The same request as an impersonated user makes it: they must have access to the view, and see only their own objects. */
  enterAs(info: RequestInfo, user: User): RequestInfo {
    if (info.place.kind === 'view') return this.enter(info, user);
    if (info.cluster !== rootCluster) return info;
    const { visible: _, ...asSender } = info;
    return this.#inRoot(asSender, user);
  }

  #inRoot(info: RequestInfo, user: User): RequestInfo {
    const visible = this.#options.visibility.inRoot?.(info, user);
    return visible === undefined ? info : { ...info, visible };
  }

  #resolve({ kind, path }: Exclude<Place, { kind: 'plain' }>, info: ParsedRequest, user: User): ClusterId {
    if (path !== everyCluster) {
      const id = this.#options.tree.resolve(path);
      if (id !== undefined) return id;
      // A new workspace starts with its logical cluster, and the creator chooses the id.
      if (isFirstObject(info) && !path.includes(':')) return asClusterId(path);
      // A deleted workspace has no objects, so superusers get an empty list.
      if (info.isResource && info.verb === 'list' && user.groups.includes(superuserGroup)) return asClusterId(path);
      // A view answers about a missing workspace like about one that has nothing to do with it.
      if (kind === 'view' && !isPlatform(user)) return nowhere;
      throw unreachable(path, info, user);
    }
    return everyCluster;
  }
}

/** No workspace has this id. */
const nowhere = asClusterId('-');

const isPlatform = (user: User): boolean => user.groups.includes(superuserGroup) || user.name === controllerManagerUser;

/** A service account whose request names no workspace means its own, like a program inside a cluster. */
function placeOf(place: Place, user: User): Place {
  const home = place.kind === 'plain' ? homeOf(user) : undefined;
  return home === undefined || home === rootCluster ? place : { kind: 'workspace', path: home as PlacePath };
}

function isFirstObject({ group, resource, subresource, verb }: ParsedRequest): boolean {
  return verb === 'create' && group === logicalClusters.group && resource === logicalClusters.resource && subresource === '';
}

function isAboutItself({ isResource, group, resource, path }: ParsedRequest): boolean {
  return path.startsWith('/openapi') || (isResource && group === logicalClusters.group && resource === logicalClusters.resource);
}

/** The error for requests in an inactive workspace. */
export function closed(cluster: ClusterId): Error {
  return status.forbidden(logicalClusters, cluster, 'logical cluster is marked inactive');
}

/**
 * Users without access must not learn whether a workspace exists: a missing one looks like a closed one. Only the platform gets NotFound.
 */
export function unreachable(path: string, info: Omit<ParsedRequest, 'cluster'> & { readonly cluster: string }, user: User): Error {
  if (isPlatform(user)) return status.notFound(logicalClusters, path);
  return forbidden(attributesOf(info, user), 'access denied');
}
