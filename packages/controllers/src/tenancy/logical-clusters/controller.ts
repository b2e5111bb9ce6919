import { type Client, clusterOf, isForbidden, type ObjectKey } from '@capstan/client';
import { type Controller, controller, done, type Result, whenOutdated } from '@capstan/controller';
import {
  type LogicalCluster,
  logicalClusterName,
  logicalClusterType,
  type Purged,
  rootCluster,
  type Workspace,
  workspaceType,
} from '../kinds.ts';
import { reconcileLogicalCluster } from './reconcile.ts';

/** Watches LogicalClusters that are on their way, and the workspaces below them: one that is emptied waits for those. */
export function logicalClusterController({
  concurrency = 32,
}: {
  readonly concurrency?: number | undefined;
} = {}): Controller<LogicalCluster> {
  return controller('logical-cluster')
    .for<LogicalCluster>(logicalClusterType, { predicate: ({ type, object }) => type !== 'deleted' && clusterOf(object) !== rootCluster })
    .watches<Workspace>(workspaceType, parentOf, { predicate: ({ type }) => type === 'deleted' })
    .reconcile(({ key, client, object, signal }) => reconcileOne({ key, client, object, signal }), {
      concurrency,
      backoff: { base: 100, max: 30_000 },
      fairness: () => '',
    });
}

interface Work {
  readonly key: ObjectKey;
  readonly object: LogicalCluster | undefined;
  readonly client: Client;
  readonly signal: AbortSignal;
}

async function reconcileOne({ key, object, client, signal }: Work): Promise<Result> {
  if (key.cluster === undefined || key.cluster === rootCluster) return done;
  const clusters = client.resource<LogicalCluster>(logicalClusterType);
  const path = `/capstan/workspaces/${key.cluster}`;
  const root = client.cluster(rootCluster);
  try {
    return await reconcileLogicalCluster(object, {
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
