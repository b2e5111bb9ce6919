import { clusterOf, type Informer, isForbidden, isNotFound, type ObjectKey, objectKey } from '@capstan/client';
import { type Controller, controller, done, type Reconcile, type Result } from '@capstan/controller';
import {
  type LogicalCluster,
  logicalClusterName,
  logicalClusterType,
  type Purged,
  rootCluster,
  type Shard,
  shardType,
  type Workspace,
  workspaceType,
} from '../kinds.ts';
import { addressOf } from '../shard-address.ts';
import { reconcileLogicalCluster } from './reconcile.ts';

interface Copies {
  readonly clusters: Informer<LogicalCluster>;
  readonly shards: Informer<Shard>;
}

/** Watches LogicalClusters, and the workspaces below them: one that is being deleted waits for those. */
export function logicalClusterController({
  concurrency = 32,
}: {
  readonly concurrency?: number | undefined;
} = {}): Controller<LogicalCluster, Copies> {
  return controller('logical-cluster')
    .for<LogicalCluster>(logicalClusterType, { predicate: ({ type, object }) => type !== 'deleted' && clusterOf(object) !== rootCluster })
    .reads(
      (informers): Copies => ({
        clusters: informers.informer<LogicalCluster>(logicalClusterType),
        shards: informers.informer<Shard>(shardType),
      }),
    )
    .watches<Workspace>(workspaceType, parentOf, { predicate: ({ type }) => type === 'deleted' })
    .watches<Shard>(shardType, (_shard, copies) => elsewhere(copies))
    .reconcile(reconcileOne, { concurrency, backoff: { base: 100, max: 30_000 }, fairness: () => '' });
}

const addressIn = ({ shards }: Copies): string | undefined => shards.list().map(addressOf)[0];

/** The clusters whose URL does not have the address of the shard. */
function elsewhere(copies: Copies): ObjectKey[] {
  const address = addressIn(copies);
  return copies.clusters
    .list()
    .filter((one) => clusterOf(one) !== rootCluster && one.status?.URL?.startsWith(`${address}/`) !== true)
    .map(objectKey);
}

async function reconcileOne({ key, object, client, signal, copies }: Reconcile<LogicalCluster, Copies>): Promise<Result> {
  if (key.cluster === undefined || key.cluster === rootCluster) return done;
  const clusters = client.resource<LogicalCluster>(logicalClusterType);
  const path = `/capstan/workspaces/${key.cluster}`;
  const root = client.cluster(rootCluster);
  try {
    return await reconcileLogicalCluster(object, {
      address: () => addressIn(copies),
      bind: () => root.json({ method: 'POST', path: `${path}/bindings`, signal }),
      purge: () => root.json<Purged>({ method: 'DELETE', path: `${path}/content`, signal }),
      update: (changed) => clusters.update(changed, { signal }),
      updateStatus: (changed) => clusters.updateStatus(changed, { signal }),
      now: () => new Date(),
    });
  } catch (error) {
    // A workspace that is gone looks like one that this account may not enter.
    if (isForbidden(error) || isNotFound(error)) return done;
    throw error;
  }
}

function parentOf(workspace: Workspace): ObjectKey[] {
  const cluster = clusterOf(workspace);
  return cluster === undefined ? [] : [{ cluster, name: logicalClusterName }];
}
