import type { WatchCache } from '../cache/watch-cache.ts';
import type { WebhookConversion } from '../crds/definition.ts';
import type { Definitions } from '../crds/definitions.ts';
import { rulesOf } from '../crds/rules/checker.ts';
import type { Catalog } from '../registry/catalog.ts';
import { Catalogs } from '../registry/catalogs.ts';
import { BoundDefinitions } from '../workspaces/kinds/bound-definitions.ts';
import { BoundKinds } from '../workspaces/kinds/bound-kinds.ts';
import { KindsByWorkspace } from '../workspaces/kinds/kinds-by-workspace.ts';
import { PlatformKinds } from '../workspaces/kinds/platform-kinds.ts';
import { Scopes } from '../workspaces/scopes.ts';
import { Tree } from '../workspaces/tree.ts';

export interface Workspaces {
  readonly catalogs: Catalogs;
  readonly scopes: Scopes;
  readonly tree: Tree;
}

/** Puts together what tells the workspaces of one server apart. */
export function workspaces(options: {
  readonly cache: WatchCache;
  readonly catalog: Catalog;
  readonly definitions: Definitions;
  readonly webhook: WebhookConversion;
}): Workspaces {
  const { cache, catalog, definitions, webhook } = options;
  const platform = new PlatformKinds(rulesOf);
  const bound = new BoundDefinitions({ cache, platform, rules: rulesOf, webhook });
  const kinds = new KindsByWorkspace({
    system: platform.system,
    bound: new BoundKinds({ cache, definition: bound.of }),
    defined: definitions,
  });
  const catalogs = new Catalogs(catalog, (cluster) => kinds.in(cluster));
  const everywhere = catalog.with(platform.all);
  const tree = new Tree(cache);
  return { catalogs, tree, scopes: new Scopes({ tree, catalogs, wildcard: () => everywhere, views: new Map() }) };
}
