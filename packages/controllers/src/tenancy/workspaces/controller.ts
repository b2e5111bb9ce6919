import { randomBytes } from 'node:crypto';
import { type Client, type Informer, isForbidden, isNotFound, type ObjectKey, objectKey } from '@capstan/client';
import { type Controller, controller, ignoring, type Reconcile, type Result } from '@capstan/controller';
import type { JsonObject } from '@capstan/machinery';
import {
  type Begun,
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
      .for<Workspace>(workspaceType)
      .reads(
        (informers): Copies => ({
          workspaces: informers.informer<Workspace>(workspaceType),
          clusters: informers.informer<LogicalCluster>(logicalClusterType),
          shards: informers.informer<Shard>(shardType),
        }),
      )
      // This controller created a new one itself, so only its changes matter.
      .watches<LogicalCluster>(logicalClusterType, ownerOf, { predicate: ({ type }) => type !== 'added' })
      .watches<Shard>(shardType, (_shard, copies) => unlikeShards(copies))
      .reconcile(reconcileOne, {
        concurrency,
        backoff: { base: 100, max: 30_000 },
        // Workspaces of one parent do not wait for each other's turn.
        fairness: ({ cluster = '' }) => cluster,
      })
  );
}

function reconcileOne({ key, object: workspace, client, signal, copies, wrote }: Reconcile<Workspace, Copies>): Promise<Result> {
  const workspaces = client.resource<Workspace>(workspaceType);
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
    begin: async (id, wanted) => {
      const call = { method: 'POST', path: `/capstan/workspaces/${id}/begin`, body: JSON.stringify(wanted), signal };
      const begun = await root.json<Begun>(call);
      return isOurs(begun.logicalCluster, workspace!) ? begun : undefined;
    },
    purge: (id) =>
      root.json<Purged>({ method: 'DELETE', path: `/capstan/workspaces/${id}/content?${ownerQuery(key, workspace!)}`, signal }),
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
    client.cluster(id).resource<LogicalCluster>(logicalClusterType).get(logicalClusterName, { signal }),
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
  const bases = shards.list().map(addressOf);
  return workspaces
    .list()
    .filter(
      ({ spec }) => spec?.mount === undefined && (spec?.cluster === undefined || !bases.some((base) => spec.URL?.startsWith(`${base}/`))),
    )
    .map(objectKey);
}
