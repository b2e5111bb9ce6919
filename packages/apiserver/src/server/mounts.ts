import { rootCluster } from '@capstan/api';
import { fieldsOf, textOf } from '@capstan/machinery';
import type { Serving } from '../handlers/serving.ts';
import { Forwarder } from '../workspaces/mounts/forward.ts';
import { MountKeeper } from '../workspaces/mounts/keeper.ts';
import { Mounts } from '../workspaces/mounts/mounts.ts';
import type { MountBackend } from '../workspaces/mounts/target.ts';

export interface MountOptions {
  /** Where mounts may lead beside this server. */
  readonly backends: readonly MountBackend[];
}

/** What the way of a request needs to know of mounts. */
export interface MountedWorkspaces {
  readonly mounts: Mounts;
  readonly forwarder: Forwarder;
}

const shards = { group: 'core.kcp.io', resource: 'shards' } as const;

/** Workspaces that are mounted from elsewhere; undefined where the operator has not asked for it. */
export function mountedWorkspaces(
  options: MountOptions | undefined,
  { serving, now, log, resources }: { serving: Serving; now: () => Date; log: (line: string) => void; resources: AsyncDisposableStack },
): MountedWorkspaces | undefined {
  if (options === undefined) return undefined;
  const { cache, catalogs } = serving;
  const url = (): string => {
    const { externalURL, baseURL } = fieldsOf(cache.get({ ...shards, cluster: rootCluster, namespace: '', name: 'root' })?.['spec']);
    return textOf(externalURL) || textOf(baseURL);
  };
  const mounts = new Mounts({ cache, url, backends: options.backends });
  resources.use(
    new MountKeeper({
      backend: serving,
      catalogs,
      mounts,
      now,
      onError: (error) => log(`a mounted workspace could not be told what its mount says: ${String(error)}`),
    }),
  );
  return { mounts, forwarder: resources.use(new Forwarder()) };
}
