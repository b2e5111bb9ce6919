import {
  type LogicalCluster,
  logicalClusterKind,
  logicalClusterName,
  type PurgedWorkspace,
  rootCluster,
  type Shard,
  shardAddress,
  shardKind,
  type Workspace,
  workspaceKind,
} from '@capstan/api';
import { clusterOf, type Informer, isForbidden, isNotFound, type ObjectKey, objectKey } from '@capstan/client';
import { type Controller, controller, done, type Reconcile, type Result } from '@capstan/controller';
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
    .for<LogicalCluster>(logicalClusterKind, { predicate: ({ type, object }) => type !== 'deleted' && clusterOf(object) !== rootCluster })
    .reads(
      (informers): Copies => ({
        clusters: informers.informer<LogicalCluster>(logicalClusterKind),
        shards: informers.informer<Shard>(shardKind),
      }),
    )
    .watches<Workspace>(workspaceKind, parentOf, { predicate: ({ type }) => type === 'deleted' })
    .watches<Shard>(shardKind, (_shard, copies) => elsewhere(copies))
    .reconcile(reconcileOne, { concurrency, backoff: { base: 100, max: 30_000 }, fairness: () => '' });
}

const addressIn = ({ shards }: Copies): string | undefined => shards.list().map(shardAddress)[0];

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
  const clusters = client.resource<LogicalCluster>(logicalClusterKind);
  const path = `/capstan/workspaces/${key.cluster}`;
  const root = client.cluster(rootCluster);
  try {
    return await reconcileLogicalCluster(object, {
      address: () => addressIn(copies),
      bind: () => root.json({ method: 'POST', path: `${path}/bindings`, signal }),
      purge: () => root.json<PurgedWorkspace>({ method: 'DELETE', path: `${path}/content`, signal }),
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
