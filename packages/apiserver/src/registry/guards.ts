import { type ClusterId, groupResource, logicalClusterKind, logicalClusterName, rootCluster } from '@capstan/api';
import { StatusError, status } from '@capstan/machinery';
import { type Guard, StoreError } from '@capstan/store';
import { storeKey, type WatchCache } from '../cache/watch-cache.ts';
import { fresh } from './list.ts';
import type { Target } from './objects.ts';

const logicalClusters = groupResource(logicalClusterKind);
const namespaces = { group: '', resource: 'namespaces' } as const;

/** How often a creation is retried while the namespace keeps changing. */
const maxTries = 10;

export interface Creation extends Target {
  readonly cluster: ClusterId;
  /** Whether the request has waited, for example for a webhook, since the namespace was checked. */
  readonly waited: boolean;
}

/**
 * Creates an object only if its workspace still exists and its namespace neither is gone nor is terminating. Both may have ended
 * while the request waited for a webhook, and nobody would ever clean up the object.
 */
export async function whileThere(
  cache: WatchCache,
  creation: Creation,
  write: (guards: readonly Guard[] | undefined) => Promise<number>,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write(guardsOf(cache, creation));
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'unmet') throw error;
      await fresh(cache);
      const { resource, name, cluster } = creation;
      if (isOwned(creation) && cache.get(ownerOf(cluster)) === undefined) throw status.notFound(logicalClusters, cluster);
      if (attempt === maxTries) throw status.conflict(resource, name, 'its namespace is being changed');
    }
  }
}

function guardsOf(cache: WatchCache, creation: Creation): readonly Guard[] | undefined {
  const { cluster, namespace, resource, waited } = creation;
  const owner = isOwned(creation) ? [{ key: storeKey(ownerOf(cluster)) }] : undefined;
  if (!waited || !resource.namespaced) return owner;
  const entry = cache.resource(namespaces).newest(`${cluster}//${namespace}`);
  if (entry === undefined) throw status.notFound(namespaces, namespace);
  if ((entry.object['status'] as { phase?: string } | undefined)?.phase === 'Terminating') throw terminating(creation);
  const place = { ...namespaces, cluster, namespace: '', name: namespace };
  return [...(owner ?? []), { key: storeKey(place), revision: entry.revision }];
}

/** The workspaces of the platform itself have no LogicalCluster, and a LogicalCluster cannot depend on itself. */
function isOwned({ cluster, resource }: Creation): boolean {
  const isOwner = resource.resource === logicalClusters.resource && resource.group === logicalClusters.group;
  return cluster !== rootCluster && !isOwner && !cluster.startsWith('system:');
}

const ownerOf = (cluster: ClusterId) => ({ ...logicalClusters, cluster, namespace: '', name: logicalClusterName });

/** The error for a create in a namespace that is being terminated. */
export function terminating({ resource, namespace, name }: Target): StatusError {
  const refusal = status.forbidden(resource, name, `unable to create new content in namespace ${namespace} because it is being terminated`);
  return new StatusError({
    ...refusal.status,
    details: {
      ...refusal.status.details,
      causes: [{ reason: 'NamespaceTerminating', message: `namespace ${namespace} is being terminated`, field: 'metadata.namespace' }],
    },
  });
}
