import type { Serving } from '../../handlers/serving.ts';
import { publishedUrl } from '../root/bootstrap.ts';
import { Forwarder } from './forward.ts';
import { MountKeeper } from './keeper.ts';
import { Mounts } from './mounts.ts';
import type { MountBackend } from './target.ts';

export interface MountOptions {
  /** The servers that mounts may lead to, besides this one. */
  readonly backends: readonly MountBackend[];
}

/** The parts of mounting that requests pass through. */
export interface MountedWorkspaces {
  readonly mounts: Mounts;
  readonly forwarder: Forwarder;
}

/** Sets up mounted workspaces; undefined if the operator has not enabled them. */
export function mountedWorkspaces(
  options: MountOptions | undefined,
  { serving, now, log, resources }: { serving: Serving; now: () => Date; log: (line: string) => void; resources: AsyncDisposableStack },
): MountedWorkspaces | undefined {
  if (options === undefined) return undefined;
  const { cache, catalogs } = serving;
  const mounts = new Mounts({ cache, url: () => publishedUrl(cache) ?? '', backends: options.backends });
  resources.use(
    new MountKeeper({
      backend: serving,
      catalogs,
      mounts,
      now,
      onError: (error) => log(`cannot update a mounted workspace from its mount object: ${String(error)}`),
    }),
  );
  return { mounts, forwarder: resources.use(new Forwarder()) };
}
