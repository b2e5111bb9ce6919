import { rootCluster, type Shard, shardKind, type WorkspaceType, workspaceTypeKind } from '@capstan/api';
import { type Informer, objectKey } from '@capstan/client';
import { type Controller, controller, done } from '@capstan/controller';
import { withAddresses } from './reconcile.ts';

interface Copies {
  readonly types: Informer<WorkspaceType>;
  readonly shards: Informer<Shard>;
}

/** Watches WorkspaceTypes, and the shards that their addresses come from. */
export function workspaceTypeController({
  concurrency = 4,
}: {
  readonly concurrency?: number | undefined;
} = {}): Controller<WorkspaceType, Copies> {
  return controller('workspace-type')
    .for<WorkspaceType>(workspaceTypeKind)
    .reads(
      (informers): Copies => ({
        types: informers.informer<WorkspaceType>(workspaceTypeKind),
        shards: informers.informer<Shard>(shardKind),
      }),
    )
    .watches<Shard>(shardKind, (_shard, { types }) => types.list().map(objectKey))
    .reconcile(
      async ({ key, object, client, signal, copies }) => {
        if (object === undefined || object.metadata.deletionTimestamp !== undefined) return done;
        const cluster = key.cluster ?? rootCluster;
        const changed = withAddresses(object, { cluster, shards: copies.shards.list(), now: new Date() });
        if (changed !== undefined) await client.resource<WorkspaceType>(workspaceTypeKind).updateStatus(changed, { signal });
        return done;
      },
      { concurrency },
    );
}
