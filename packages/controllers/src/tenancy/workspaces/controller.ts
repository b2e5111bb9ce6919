import { randomBytes } from 'node:crypto';
import {
  type CreatedWorkspace,
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
import { type Client, type Informer, isForbidden, isNotFound, type ObjectKey, objectKey } from '@capstan/client';
import { type Controller, controller, ignoring, type Reconcile, type Result } from '@capstan/controller';
import type { JsonObject } from '@capstan/machinery';
import { isOurs, reconcileWorkspace } from './reconcile.ts';

interface Copies {
  readonly workspaces: Informer<Workspace>;
  readonly clusters: Informer<LogicalCluster>;
  readonly shards: Informer<Shard>;
}

/** Watches Workspaces, their logical clusters, and the shards that they can be scheduled to. */
export function workspaceController({
  concurrency = 64,
}: {
  readonly concurrency?: number | undefined;
} = {}): Controller<Workspace, Copies> {
  return (
    controller('workspace')
      .for<Workspace>(workspaceKind)
      .reads(
        (informers): Copies => ({
          workspaces: informers.informer<Workspace>(workspaceKind),
          clusters: informers.informer<LogicalCluster>(logicalClusterKind),
          shards: informers.informer<Shard>(shardKind),
        }),
      )
      // This controller created a new one itself, so only its changes matter.
      .watches<LogicalCluster>(logicalClusterKind, ownerOf, { predicate: ({ type }) => type !== 'added' })
      .watches<Shard>(shardKind, (_shard, copies) => unlikeShards(copies))
      .reconcile(reconcileOne, {
        concurrency,
        backoff: { base: 100, max: 30_000 },
        // Workspaces of one parent do not wait for each other's turn.
        fairness: ({ cluster = '' }) => cluster,
      })
  );
}

function reconcileOne({ key, object: workspace, client, signal, copies, wrote }: Reconcile<Workspace, Copies>): Promise<Result> {
  const workspaces = client.resource<Workspace>(workspaceKind);
  const root = client.cluster(rootCluster);
  const write = async (patch: JsonObject, subresource?: string): Promise<void> => {
    const options = { signal, ...(subresource !== undefined && { subresource }) };
    wrote(await workspaces.patch(key.name, { type: 'merge', patch }, options));
  };
  return reconcileWorkspace(workspace, {
    cluster: key.cluster ?? rootCluster,
    shards: () => copies.shards.list(),
    logicalCluster: (id) => copies.clusters.get({ cluster: id, name: logicalClusterName }),
    readLogicalCluster: (id) => readLogicalCluster(client, id, signal),
    create: async (id, wanted) => {
      const call = { method: 'POST', path: `/capstan/workspaces/${id}/create`, body: JSON.stringify(wanted), signal };
      const created = await root.json<CreatedWorkspace>(call);
      return isOurs(created.logicalCluster, workspace!) ? created : undefined;
    },
    purge: (id) =>
      root.json<PurgedWorkspace>({ method: 'DELETE', path: `/capstan/workspaces/${id}/content?${ownerQuery(key, workspace!)}`, signal }),
    patch: (patch) => write(patch),
    patchStatus: (patch) => write(patch, 'status'),
    newId: () =>
      BigInt(`0x${randomBytes(28).toString('hex')}`)
        .toString(36)
        .slice(0, 16),
    now: () => new Date(),
  });
}

/** To this account, a workspace that does not exist looks like one that it may not enter. */
function readLogicalCluster(client: Client, id: string, signal: AbortSignal): Promise<LogicalCluster | undefined> {
  return ignoring(
    client.cluster(id).resource<LogicalCluster>(logicalClusterKind).get(logicalClusterName, { signal }),
    isNotFound,
    isForbidden,
  );
}

function ownerQuery({ cluster = rootCluster, name }: ObjectKey, { metadata }: Workspace): string {
  return new URLSearchParams({ ownerCluster: cluster, ownerName: name, ownerUid: metadata.uid ?? '' }).toString();
}

function ownerOf({ spec }: LogicalCluster): ObjectKey[] {
  const owner = spec?.owner;
  return owner === undefined ? [] : [{ cluster: owner.cluster, name: owner.name }];
}

/** Workspaces without a shard, or with the URL of a shard that has moved to another address. */
function unlikeShards({ shards, workspaces }: Copies): ObjectKey[] {
  const bases = shards.list().map(shardAddress);
  return workspaces
    .list()
    .filter(
      ({ spec }) => spec?.mount === undefined && (spec?.cluster === undefined || !bases.some((base) => spec.URL?.startsWith(`${base}/`))),
    )
    .map(objectKey);
}
