import { type Client, clusterOf, isForbidden, type ObjectKey, objectKey } from '@capstan/client';
import { controller, done, type Result, type Runnable, whenOutdated } from '@capstan/controller';
import { informed } from '../../informed.ts';
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

/** Watches LogicalClusters that are on their way, and the workspaces below them: one that is emptied waits for those. */
export function logicalClusterController({ concurrency = 32 }: { readonly concurrency?: number | undefined } = {}): Runnable {
  return informed((informers) => {
    const address = (): string | undefined => informers().informer<Shard>(shardType).list().map(addressOf)[0];
    return controller('logical-cluster')
      .for<LogicalCluster>(logicalClusterType, { predicate: ({ type, object }) => type !== 'deleted' && clusterOf(object) !== rootCluster })
      .watches<Workspace>(workspaceType, parentOf, { predicate: ({ type }) => type === 'deleted' })
      .watches<Shard>(shardType, () => elsewhere(informers().informer<LogicalCluster>(logicalClusterType).list(), address()))
      .reconcile(({ key, client, object, signal }) => reconcileOne({ key, client, object, signal, address }), {
        concurrency,
        backoff: { base: 100, max: 30_000 },
        fairness: () => '',
      });
  });
}

/** Those whose URL is not that of the shard. */
function elsewhere(clusters: readonly LogicalCluster[], address: string | undefined): ObjectKey[] {
  return clusters.filter((one) => clusterOf(one) !== rootCluster && one.status?.URL?.startsWith(`${address}/`) !== true).map(objectKey);
}

interface Work {
  readonly key: ObjectKey;
  readonly object: LogicalCluster | undefined;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly address: () => string | undefined;
}

async function reconcileOne({ key, object, client, signal, address }: Work): Promise<Result> {
  if (key.cluster === undefined || key.cluster === rootCluster) return done;
  const clusters = client.resource<LogicalCluster>(logicalClusterType);
  const path = `/capstan/workspaces/${key.cluster}`;
  const root = client.cluster(rootCluster);
  try {
    return await reconcileLogicalCluster(object, {
      address,
      bind: () => root.json({ method: 'POST', path: `${path}/bindings`, signal }),
      purge: () => root.json<Purged>({ method: 'DELETE', path: `${path}/content`, signal }),
      update: (changed) => clusters.update(changed, { signal }),
      updateStatus: (changed) => clusters.updateStatus(changed, { signal }),
      now: () => new Date(),
    });
  } catch (error) {
    // What is gone may not be entered either.
    return isForbidden(error) ? done : whenOutdated(error);
  }
}

function parentOf(workspace: Workspace): ObjectKey[] {
  const cluster = clusterOf(workspace);
  return cluster === undefined ? [] : [{ cluster, name: logicalClusterName }];
}
