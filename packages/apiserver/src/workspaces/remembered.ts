import type { ClusterId } from '@capstan/api';
import type { WatchCache } from '../cache/watch-cache.ts';
import { logicalClusters, type Tree, workspaces } from './tree.ts';

/** The id of the workspace at a path, for those who ask with every request. It is resolved again after a workspace has changed. */
export function rememberedWorkspace(
  path: string,
  { tree, cache }: { readonly tree: Tree; readonly cache: WatchCache },
): () => ClusterId | undefined {
  const held = [cache.resource(workspaces), cache.resource(logicalClusters)] as const;
  let entries = held.map((one) => one.entries);
  let known: ClusterId | undefined;
  const changed = (): void => void (known = undefined);
  for (const { listeners } of held) listeners.add({ changed });
  return () => {
    // The cache replaces its maps after losing the connection to the store, and does not report the changes in between.
    if (entries[0] !== held[0].entries || entries[1] !== held[1].entries) {
      entries = held.map((one) => one.entries);
      known = undefined;
    }
    return (known ??= tree.resolve(path));
  };
}
