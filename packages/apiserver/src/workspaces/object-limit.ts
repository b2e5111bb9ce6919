import { type ClusterId, platformOwnersGroup, rootCluster, superuserGroup, type User } from '@capstan/api';
import { status } from '@capstan/machinery';
import { cacheKey, type ResourceCache, type WatchCache } from '../cache/watch-cache.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../registry/admission.ts';
import { isPlatformAccount } from './authorizer.ts';
import { logicalClusterOf, logicalClusters } from './tree.ts';

/** On a logical cluster: how many objects its workspace may hold. */
const limitAnnotation = 'core.kcp.io/max-total-objects';

/** Annotations of a logical cluster with which the platform limits its workspace. Users of the workspace cannot change them. */
const reserved = [limitAnnotation, 'authorization.kcp.io/required-groups', 'internal.kcp.io/inactive'];

/**
 * Limits how many objects of all kinds a workspace holds: by the annotation of its logical cluster, else by the server's default.
 * Concurrent writes through several servers can exceed the limit slightly.
 */
export function objectLimit({ cache, limit }: { readonly cache: WatchCache; readonly limit: number | undefined }): AdmissionPlugin {
  const admitted = new Admitted(cache);
  return {
    name: 'WorkspaceObjectLimit',
    validate(request) {
      checkReserved(request);
      const { cluster, user } = request.context;
      const { operation, subresource, dryRun, resource } = request;
      if (operation !== 'CREATE' || subresource !== '' || dryRun || resource.virtual || cluster === rootCluster) return;
      if (user.groups.includes(superuserGroup) || isPlatformAccount(user)) return;
      const most = limitOf(cache, cluster) ?? limit;
      if (most === undefined) return;
      const count = cache.countIn(cluster) + admitted.underWay(cluster);
      if (count >= most) {
        throw status.forbidden(
          resource,
          request.name,
          `the workspace holds ${count} objects and its limit is ${most}; delete some, or ask the platform operator for a higher limit`,
        );
      }
      admitted.add(request);
    },
  };
}

/** In milliseconds: an admitted object that is not stored by then never will be. */
const forgottenAfter = 5_000;

interface UnderWay {
  readonly held: ResourceCache;
  readonly key: string;
  readonly since: number;
}

/** Admitted objects that are not in the cache yet. Only workspaces with creations in progress have an entry. */
class Admitted {
  readonly #cache: WatchCache;
  readonly #byCluster = new Map<string, UnderWay[]>();

  constructor(cache: WatchCache) {
    this.#cache = cache;
  }

  underWay(cluster: ClusterId): number {
    const before = this.#byCluster.get(cluster);
    if (before === undefined) return 0;
    const oldest = Date.now() - forgottenAfter;
    const left = before.filter(({ held, key, since }) => since > oldest && held.entries.get(key) === undefined);
    if (left.length === 0) this.#byCluster.delete(cluster);
    else this.#byCluster.set(cluster, left);
    return left.length;
  }

  add({ resource, namespace, name, context: { cluster } }: AdmissionRequest): void {
    const key = cacheKey({ cluster, namespace: resource.namespaced ? namespace : '', name });
    const one = { held: this.#cache.resource(resource.storage), key, since: Date.now() };
    const others = this.#byCluster.get(cluster);
    if (others === undefined) this.#byCluster.set(cluster, [one]);
    else others.push(one);
  }
}

function limitOf(cache: WatchCache, cluster: ClusterId): number | undefined {
  const text = logicalClusterOf(cache, cluster)?.metadata.annotations?.[limitAnnotation];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function checkReserved({ resource, object, old, context, name }: AdmissionRequest): void {
  if (resource.resource !== logicalClusters.resource || resource.group !== logicalClusters.group || isTrusted(context.user)) return;
  for (const key of reserved) {
    if (object !== undefined && object.metadata.annotations?.[key] !== old?.metadata.annotations?.[key]) {
      throw status.forbidden(resource, name, `the annotation ${key} can only be changed by the platform`);
    }
  }
}

const isTrusted = (user: User): boolean =>
  user.groups.includes(superuserGroup) || user.groups.includes(platformOwnersGroup) || isPlatformAccount(user);
