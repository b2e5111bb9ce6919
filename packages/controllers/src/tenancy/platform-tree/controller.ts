import { setTimeout as sleep } from 'node:timers/promises';
import { rootCluster, type Workspace, workspaceKind } from '@capstan/api';
import { type Client, isAlreadyExists } from '@capstan/client';
import { ignoring, type Runnable } from '@capstan/controller';
import { Backoff } from '@capstan/machinery';
import { createTree, firstWorkspaces, type TreeActions } from './reconcile.ts';

/** In milliseconds, between two looks at a workspace that is not ready. */
const interval = 100;

/** Creates the first workspaces once, with retries. */
export function platformTree(): Runnable {
  return {
    name: 'platform-tree',
    async run({ client, signal, onError }) {
      const backoff = new Backoff({ base: interval, max: 30_000 });
      while (!signal.aborted) {
        try {
          return await createTree(serverActions(client, signal));
        } catch (error) {
          if (signal.aborted) return;
          onError(error, { cluster: rootCluster, name: firstWorkspaces.at(-1)!.name });
        }
        await sleep(backoff.next(), undefined, { signal }).catch(() => {});
      }
    },
  };
}

function serverActions(client: Client, signal: AbortSignal): TreeActions {
  return {
    find: async ({ parent, name }) => {
      const workspaces = client.cluster(parent).resource<Workspace>(workspaceKind);
      const { items } = await workspaces.list({ fieldSelector: `metadata.name=${name}`, signal });
      return items[0];
    },
    create: async ({ parent, name, type }) => {
      const spec = { type: { name: type, path: rootCluster } };
      const object: Workspace = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, spec };
      await ignoring(client.cluster(parent).resource<Workspace>(workspaceKind).create(object, { signal }), isAlreadyExists);
    },
    wait: () => sleep(interval, undefined, { signal }),
  };
}
