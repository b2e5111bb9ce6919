import { objectKey } from '@capstan/client';
import { controller, done, type Runnable, whenOutdated } from '@capstan/controller';
import { informed } from '../../informed.ts';
import { rootCluster, type Shard, shardType, type WorkspaceTypeObject, workspaceTypeType } from '../kinds.ts';
import { withAddresses } from './reconcile.ts';

/** Watches WorkspaceTypes, and the shards that their addresses come from. */
export function workspaceTypeController({ concurrency = 4 }: { readonly concurrency?: number | undefined } = {}): Runnable {
  return informed((informers) =>
    controller('workspace-type')
      .for<WorkspaceTypeObject>(workspaceTypeType)
      .watches<Shard>(shardType, () => informers().informer(workspaceTypeType).list().map(objectKey))
      .reconcile(
        async ({ key, object, client, signal }) => {
          if (object === undefined || object.metadata.deletionTimestamp !== undefined) return done;
          const shards = informers().informer<Shard>(shardType).list();
          const changed = withAddresses(object, { cluster: key.cluster ?? rootCluster, shards, now: new Date() });
          if (changed === undefined) return done;
          try {
            await client.resource<WorkspaceTypeObject>(workspaceTypeType).updateStatus(changed, { signal });
          } catch (error) {
            return whenOutdated(error);
          }
          return done;
        },
        { concurrency },
      ),
  );
}
