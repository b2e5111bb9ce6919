import { controllerManagerUser, everyCluster, rootCluster, superuserGroup, type User } from '@capstan/api';
import { status } from '@capstan/machinery';
import { homeOf } from '../authn/service-account.ts';
import { forbidden } from '../authz/wording.ts';
import { attributesOf } from '../registry/attributes.ts';
import type { Catalog } from '../registry/catalog.ts';
import type { Catalogs } from '../registry/catalogs.ts';
import type { RequestInfo, Scope } from '../registry/scope.ts';
import type { Place, ViewName } from '../request/place.ts';
import { logicalClusters, type Tree } from './tree.ts';

/** A view into several workspaces: what an export's provider sees, or whoever initializes or ends workspaces. */
export interface WorkspaceView {
  /** `cluster` is the id of a workspace or `*`. Throws what the client is told when it may not look. */
  scope(request: { readonly of: readonly string[]; readonly cluster: string; readonly info: RequestInfo; readonly user: User }): Scope;
}

export interface ScopesOptions {
  readonly tree: Tree;
  readonly catalogs: Catalogs;
  /** The kinds that can be asked for in all workspaces at once. */
  readonly wildcard: () => Catalog;
  readonly views: ReadonlyMap<ViewName, WorkspaceView>;
  /** Shows objects with what others claim of them. */
  readonly labelled: NonNullable<Scope['labelled']>;
}

/** Looks up where requests lead. */
export class Scopes {
  readonly #options: ScopesOptions;

  constructor(options: ScopesOptions) {
    this.#options = options;
  }

  /** The same request, knowing what it can reach. */
  enter(info: RequestInfo, user: User): RequestInfo {
    const place = placeOf(info.place, user);
    if (place.kind === 'plain') return info;
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

  #resolve({ path }: Exclude<Place, { kind: 'plain' }>, info: RequestInfo, user: User): string {
    if (path !== everyCluster) {
      const id = this.#options.tree.resolve(path);
      if (id !== undefined) return id;
      // A workspace begins with its logical cluster: whoever may create one says the id.
      if (isFirstObject(info) && !path.includes(':')) return path;
      // Nothing is left of a workspace that is gone.
      if (info.isResource && info.verb === 'list' && user.groups.includes(superuserGroup)) return path;
      throw unreachable(path, info, user);
    }
    return everyCluster;
  }
}

/** A service account whose path names no workspace means its own, as a program inside a cluster does. */
function placeOf(place: Place, user: User): Place {
  const home = place.kind === 'plain' ? homeOf(user) : undefined;
  return home === undefined || home === rootCluster ? place : { kind: 'workspace', path: home };
}

function isFirstObject({ group, resource, subresource, verb }: RequestInfo): boolean {
  return verb === 'create' && group === logicalClusters.group && resource === logicalClusters.resource && subresource === '';
}

function isAboutItself({ isResource, group, resource, path }: RequestInfo): boolean {
  return path.startsWith('/openapi') || (isResource && group === logicalClusters.group && resource === logicalClusters.resource);
}

function closed(cluster: string): Error {
  return status.forbidden(logicalClusters, cluster, 'logical cluster is marked inactive');
}

/** Whether a workspace exists is nobody's business who cannot enter it: one that is not there looks like one that is closed. The platform itself is told. */
export function unreachable(path: string, info: RequestInfo, user: User): Error {
  if (user.groups.includes(superuserGroup) || user.name === controllerManagerUser) return status.notFound(logicalClusters, path);
  return forbidden(attributesOf(info, user), 'access denied');
}
