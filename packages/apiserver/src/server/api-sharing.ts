import type { Authorizer, Gate } from '../authz/attributes.ts';
import { Bindings } from '../bindings/bindings.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { AdmissionPlugin } from '../registry/admission.ts';
import { type Catalog, isBuiltinKind } from '../registry/catalog.ts';
import type { WatchHub } from '../watch/hub.ts';
import { apiSharingPlugins } from '../workspaces/apis/plugins.ts';
import { cachedResourceAdmission } from '../workspaces/caching/admission.ts';
import { apiExportView } from '../workspaces/views/apiexport.ts';
import { ViewExpiry } from '../workspaces/views/expiry.ts';
import { ExportedKindsOf } from '../workspaces/views/exported-kinds.ts';
import { followBoundKinds } from '../workspaces/views/kind-expiry.ts';
import { PublishedExpiry } from '../workspaces/views/published-expiry.ts';
import { replicationView } from '../workspaces/views/replication.ts';
import { shardCacheView } from '../workspaces/views/shard-cache.ts';
import type { Workspaces } from './workspaces.ts';

/** How workspaces share APIs, as far as the server has a part in it. */
export function apiSharing(options: {
  readonly cache: WatchCache;
  readonly hub: WatchHub;
  readonly catalog: Catalog;
  readonly workspaces: Workspaces;
  readonly authorizer: Gate;
  /** Decides by roles alone, whether or not somebody may enter. */
  readonly rbac: Authorizer;
}): { readonly plugins: readonly AdmissionPlugin[]; readonly expiry: Disposable } {
  const { cache, hub, catalog, workspaces, authorizer, rbac } = options;
  const { tree, platform, builtIn, bound, virtual, views, labelled } = workspaces;
  const kinds = new ExportedKindsOf({ cache, catalog, platform, bound, virtual });
  views.set('replication', replicationView({ cache, catalog, tree, bound, virtual, authorizer, labelled }));
  views.set('apiexport', apiExportView({ tree, kinds, bindings: new Bindings(cache), authorizer, rbac, labelled }));
  views.set('cache', shardCacheView({ catalog, platform }));
  followBoundKinds({ cache, hub, bound });
  // A claim on one of these needs no identity: there is only one of each.
  const isBuiltin = (group: string, resource: string): boolean =>
    isBuiltinKind(catalog, group, resource) || platform.system.get(group, resource) !== undefined;
  const plugins = [
    cachedResourceAdmission({ objects: cache, rbac, kindIn: virtual.kindIn, isOwn: virtual.isOwn }),
    ...apiSharingPlugins({
      objects: cache,
      tree,
      rbac,
      isBuiltin,
      isServed: (cluster, group, resource) => builtIn.in(cluster).has(group, resource),
    }),
  ];
  const expiry = new DisposableStack();
  expiry.use(new ViewExpiry(cache, hub));
  expiry.use(new PublishedExpiry(virtual.changes, hub));
  return { plugins, expiry };
}
