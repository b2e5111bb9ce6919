import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, isAlreadyExists } from '@capstan/client';
import type { Runnable } from '@capstan/controller';
import { rootCluster, type Workspace, workspaceType } from '../kinds.ts';

/** The first workspaces of a new installation, in the order in which they are made. The last one says that it was done: whoever deletes another does not get it back. */
const firstWorkspaces: readonly { readonly parent: string; readonly name: string; readonly type: string }[] = [
  { parent: rootCluster, name: 'main', type: 'organization' },
  { parent: `${rootCluster}:main`, name: 'default', type: 'project' },
  { parent: rootCluster, name: 'platform', type: 'universal' },
];

/** How long to wait between two looks, in milliseconds. */
const interval = 100;

/** Makes the first workspaces once. */
export function platformTree(): Runnable {
  return {
    name: 'platform-tree',
    async run({ client, signal, onError }) {
      for (let wait = interval; !signal.aborted; wait = Math.min(wait * 2, 30_000)) {
        try {
          return await makeTree(client, signal);
        } catch (error) {
          if (signal.aborted) return;
          onError(error, { cluster: rootCluster, name: firstWorkspaces.at(-1)!.name });
        }
        await sleep(wait, undefined, { signal }).catch(() => {});
      }
    },
  };
}

async function makeTree(client: Client, signal: AbortSignal): Promise<void> {
  const last = firstWorkspaces.at(-1)!;
  if ((await find(client, last, signal)) !== undefined) return;
  for (const { parent, name, type } of firstWorkspaces) {
    try {
      const spec = { type: { name: type, path: rootCluster } };
      const object: Workspace = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, spec };
      await client.cluster(parent).resource<Workspace>(workspaceType).create(object, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    while ((await find(client, { parent, name }, signal))?.status?.phase !== 'Ready') await sleep(interval, undefined, { signal });
  }
}

async function find(
  client: Client,
  { parent, name }: { parent: string; name: string },
  signal: AbortSignal,
): Promise<Workspace | undefined> {
  const { items } = await client
    .cluster(parent)
    .resource<Workspace>(workspaceType)
    .list({ fieldSelector: `metadata.name=${name}`, signal });
  return items[0];
}
