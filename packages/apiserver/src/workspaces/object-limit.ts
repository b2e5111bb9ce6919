import { status } from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from '../admission/admission.ts';
import type { User } from '../authn/user.ts';
import { superuserGroup } from '../authz/authorizer.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { isPlatformAccount } from './authorizer.ts';
import { rootCluster } from './names.ts';
import { adminGroup } from './policy.ts';
import { logicalClusterOf, logicalClusters } from './tree.ts';

/** On a logical cluster: how many objects its workspace may hold. */
const limitAnnotation = 'core.kcp.io/max-total-objects';

/** Annotations of a logical cluster by which the platform bounds its workspace: those inside cannot change them. */
const reserved = [limitAnnotation, 'authorization.kcp.io/required-groups', 'internal.kcp.io/inactive'];

/**
 * Bounds how many objects a workspace holds, of all kinds together: what its logical cluster says, else what the server says for all. What several servers write at the same
 * moment can go over it by that much.
 */
export function objectLimit({ cache, limit }: { readonly cache: WatchCache; readonly limit: number | undefined }): AdmissionPlugin {
  const underWay = new Map<string, number>();
  return {
    name: 'WorkspaceObjectLimit',
    validate(request) {
      checkReserved(request);
      const { cluster, user } = request.context;
      if (request.operation !== 'CREATE' || request.subresource !== '' || request.dryRun || cluster === rootCluster) return;
      if (user.groups.includes(superuserGroup) || isPlatformAccount(user)) return;
      const most = limitOf(cache, cluster) ?? limit;
      if (most === undefined) return;
      const waiting = underWay.get(cluster) ?? 0;
      const count = cache.countIn(cluster) + waiting;
      if (count >= most) {
        throw status.forbidden(
          request.resource,
          request.name,
          `the workspace holds ${count} objects, and ${most} is its limit; delete some, or ask whoever runs the platform for a higher limit`,
        );
      }
      // What was let in is in the cache a moment later.
      underWay.set(cluster, waiting + 1);
      setTimeout(() => settle(underWay, cluster), settleAfter).unref();
    },
  };
}

const settleAfter = 100;

function settle(underWay: Map<string, number>, cluster: string): void {
  const left = (underWay.get(cluster) ?? 1) - 1;
  if (left === 0) underWay.delete(cluster);
  else underWay.set(cluster, left);
}

function limitOf(cache: WatchCache, cluster: string): number | undefined {
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
  user.groups.includes(superuserGroup) || user.groups.includes(adminGroup) || isPlatformAccount(user);
