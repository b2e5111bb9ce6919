import { asClusterId, type ClusterId, controllerManagerUser, everyCluster, rootCluster, superuserGroup, type User } from '@capstan/api';
import { status } from '@capstan/machinery';
import { homeOf } from '../authn/service-account.ts';
import { forbidden } from '../authz/wording.ts';
import { attributesOf } from '../registry/attributes.ts';
import type { Catalog } from '../registry/catalog.ts';
import type { Catalogs } from '../registry/catalogs.ts';
import type { RequestInfo, Scope } from '../registry/scope.ts';
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
    if (place.kind === 'plain') return info as RequestInfo;
    const cluster = this.#resolve(place, info, user);
    if (this.#options.tree.isInactive(cluster) && !isAboutItself(info)) throw closed(cluster);
    if (place.kind === 'workspace') {
      if (cluster === everyCluster) return { ...info, cluster, scope: { cluster, catalog: this.#options.wildcard(), key: cluster } };
      const { catalogs, labelled } = this.#options;
      return { ...info, cluster, scope: { cluster, catalog: catalogs.of(cluster), key: cluster, labelled } };
    }
    const view = this.#options.views.get(place.view);
    if (view === undefined) throw status.noSuchResource();
    const scope = view.scope({ of: place.of, cluster, info, user });
    return { ...info, cluster: scope.cluster, scope, ...(scope.verb !== undefined && { verb: scope.verb }) };
  }

  #resolve({ path }: Exclude<Place, { kind: 'plain' }>, info: ParsedRequest, user: User): ClusterId {
    if (path !== everyCluster) {
      const id = this.#options.tree.resolve(path);
      if (id !== undefined) return id;
      // A new workspace starts with its logical cluster, and the creator chooses the id.
      if (isFirstObject(info) && !path.includes(':')) return asClusterId(path);
      // A deleted workspace has no objects, so superusers get an empty list.
      if (info.isResource && info.verb === 'list' && user.groups.includes(superuserGroup)) return asClusterId(path);
      throw unreachable(path, info, user);
    }
    return everyCluster;
  }
}

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

function closed(cluster: ClusterId): Error {
  return status.forbidden(logicalClusters, cluster, 'logical cluster is marked inactive');
}

/**
 * Users without access must not learn whether a workspace exists: a missing one looks like a closed one. Only the platform gets NotFound.
 */
export function unreachable(path: string, info: Omit<ParsedRequest, 'cluster'> & { readonly cluster: string }, user: User): Error {
  if (user.groups.includes(superuserGroup) || user.name === controllerManagerUser) return status.notFound(logicalClusters, path);
  return forbidden(attributesOf(info, user), 'access denied');
}
