import { type Informer, objectKey } from '@capstan/client';
import { type Controller, controller, done } from '@capstan/controller';
import { rootCluster, type Shard, shardType, type WorkspaceTypeObject, workspaceTypeType } from '../kinds.ts';
import { withAddresses } from './reconcile.ts';

interface Copies {
  readonly types: Informer<WorkspaceTypeObject>;
  readonly shards: Informer<Shard>;
}

/** Watches WorkspaceTypes, and the shards that their addresses come from. */
export function workspaceTypeController({
  concurrency = 4,
}: {
  readonly concurrency?: number | undefined;
} = {}): Controller<WorkspaceTypeObject, Copies> {
  return controller('workspace-type')
    .for<WorkspaceTypeObject>(workspaceTypeType)
    .reads(
      (informers): Copies => ({
        types: informers.informer<WorkspaceTypeObject>(workspaceTypeType),
        shards: informers.informer<Shard>(shardType),
      }),
    )
    .watches<Shard>(shardType, (_shard, { types }) => types.list().map(objectKey))
    .reconcile(
      async ({ key, object, client, signal, copies }) => {
        if (object === undefined || object.metadata.deletionTimestamp !== undefined) return done;
        const cluster = key.cluster ?? rootCluster;
        const changed = withAddresses(object, { cluster, shards: copies.shards.list(), now: new Date() });
        if (changed !== undefined) await client.resource<WorkspaceTypeObject>(workspaceTypeType).updateStatus(changed, { signal });
        return done;
      },
      { concurrency },
    );
}
