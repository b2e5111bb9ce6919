import { type RuleCompiler, rulesOf } from '@capstan/kinds';
import { Bindings } from '../bindings/bindings.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { WebhookConversion } from '../crds/definition.ts';
import type { Definitions } from '../crds/definitions.ts';
import { type Catalog, isBuiltinKind } from '../registry/catalog.ts';
import { Catalogs } from '../registry/catalogs.ts';
import type { Quarantine } from '../registry/quarantine.ts';
import type { ViewName } from '../request/place.ts';
import { ClaimLabels } from '../workspaces/apis/claim-labels.ts';
import { VirtualKinds } from '../workspaces/caching/virtual-kinds.ts';
import { BoundDefinitions } from '../workspaces/kinds/bound-definitions.ts';
import { BoundKinds } from '../workspaces/kinds/bound-kinds.ts';
import { BuiltInKinds } from '../workspaces/kinds/built-in-kinds.ts';
import { KindsByWorkspace } from '../workspaces/kinds/kinds-by-workspace.ts';
import { PlatformKinds } from '../workspaces/kinds/platform-kinds.ts';
import { WildcardKinds } from '../workspaces/kinds/wildcard-kinds.ts';
import type { Organizations } from '../workspaces/organization.ts';
import { Scopes, type Visibility, type WorkspaceView } from '../workspaces/scopes.ts';
import { Tree } from '../workspaces/tree.ts';

export interface Workspaces {
  readonly catalogs: Catalogs;
  readonly scopes: Scopes;
  readonly tree: Tree;
  readonly organizations: Organizations;
  /** The kinds of the platform itself. */
  readonly platform: PlatformKinds;
  /** The kinds of Kubernetes that each workspace serves. */
  readonly builtIn: BuiltInKinds;
  /** The kinds that exports offer. */
  readonly bound: BoundDefinitions;
  /** The kinds that workspaces have bound. */
  readonly boundKinds: BoundKinds;
  /** To be filled by those who have views to offer. */
  readonly views: Map<ViewName, WorkspaceView>;
  /** To be set by those who know the rights of users. */
  readonly visibility: Visibility;
  /** Kinds whose objects lie with their provider. */
  readonly virtual: VirtualKinds;
  /** Shows objects with what others claim of them. */
  readonly labelled: ClaimLabels['show'];
}

/** Puts together what tells the workspaces of one server apart. */
export function workspaces(options: {
  readonly cache: WatchCache;
  readonly catalog: Catalog;
  readonly organizations: Organizations;
  readonly definitions: Definitions;
  readonly rules: RuleCompiler;
  readonly webhook: WebhookConversion;
  readonly quarantine: Quarantine;
}): Workspaces {
  const { cache, catalog, organizations, definitions, rules, webhook, quarantine } = options;
  const platform = new PlatformKinds(rulesOf);
  const bound = new BoundDefinitions({ cache, platform, rules, webhook, quarantine });
  const tree = new Tree(cache);
  const virtual = new VirtualKinds({
    cache,
    tree,
    kindIn: (cluster, { group, version, resource }) => catalogs.of(cluster).resource(group, version, resource),
    isOwn: (group, resource) => isBuiltinKind(catalog, group, resource) || platform.all.get(group, resource) !== undefined,
  });
  const boundKinds = new BoundKinds({ cache, definition: (one) => virtual.ofBound(bound.of(one), one) });
  bound.listeners.add(boundKinds.forget);
  const kinds = new KindsByWorkspace({
    system: platform.system,
    bound: boundKinds,
    defined: definitions,
  });
  const builtIn = new BuiltInKinds({ cache, catalog, system: platform.system, tree });
  const catalogs = new Catalogs({
    builtin: catalog,
    builtinIn: (cluster) => builtIn.in(cluster).catalog,
    customIn: (cluster) => kinds.in(cluster),
  });
  const everywhere = catalog.with(new WildcardKinds({ cache, platform, bound }));
  const views = new Map<ViewName, WorkspaceView>();
  const visibility: Visibility = {};
  const labelled = new ClaimLabels(new Bindings(cache)).show;
  return {
    catalogs,
    tree,
    organizations,
    platform,
    builtIn,
    bound,
    boundKinds,
    virtual,
    views,
    visibility,
    scopes: new Scopes({ tree, catalogs, wildcard: () => everywhere, views, visibility, labelled }),
    labelled,
  };
}
