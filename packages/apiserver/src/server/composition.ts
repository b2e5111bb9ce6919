import { rootCluster } from '@capstan/api';
import { trustedAuthorities } from '@capstan/pki';
import { dynamicAdmission } from '../admission/dynamic.ts';
import { namespaceLifecycle } from '../admission/namespace-lifecycle.ts';
import { objectLimits } from '../admission/object-limits.ts';
import { certificatePlugins } from '../admission/plugins/certificates.ts';
import { exceptUnitPods } from '../admission/plugins/except-unit-pods.ts';
import { nodeRestriction } from '../admission/plugins/node-restriction/plugin.ts';
import { workloadPlugins } from '../admission/plugins/workload-plugins.ts';
import { resourceQuota } from '../admission/quota/plugin.ts';
import { rbacEscalation } from '../admission/rbac-escalation.ts';
import { webhookCountLimit } from '../admission/webhooks/count-limit.ts';
import { Bindings } from '../bindings/bindings.ts';
import { definitionLifecycle } from '../crds/admission.ts';
import { bindings, podActions } from '../handlers/pods/pod-actions.ts';
import type { Serving } from '../handlers/serving.ts';
import { nodeIdentityAdmission } from '../node-agents/identity-admission.ts';
import { podMetrics } from '../node-usage/pod-metrics.ts';
import { Admission } from '../registry/admission.ts';
import { metricsGroup } from '../registry/pod-metrics.ts';
import { allocationProtection } from '../workspaces/admission/allocation-protection.ts';
import { productSecrets } from '../workspaces/admission/product-secrets.ts';
import { requesterStamps } from '../workspaces/admission/requester.ts';
import { unitPods } from '../workspaces/admission/unit-pods.ts';
import { builtinRoles } from '../workspaces/builtin-roles.ts';
import { objectLimit } from '../workspaces/object-limit.ts';
import { storedLimit } from '../workspaces/stored-limit.ts';
import { visibleWorkspaces } from '../workspaces/visible-workspaces.ts';
import type { Access } from './access.ts';
import { apiSharing } from './api-sharing.ts';
import type { Kinds } from './kinds.ts';
import type { Lifetime, ServerOptions } from './options.ts';
import { reviewKinds } from './reviews.ts';
import type { Storage } from './storage.ts';
import { connectionsOf } from './streams.ts';
import { type Tenancy, tenancy } from './tenancy.ts';

export interface Parts {
  readonly storage: Storage;
  readonly kinds: Kinds;
  readonly access: Access;
}

/** Connects everything that a request for a resource passes through, and the workspaces around it. */
export function compose(parts: Parts, options: ServerOptions, lifetime: Lifetime): { serving: Serving; tenants: Tenancy } {
  const { storage, kinds, access } = parts;
  const { cache, store, hub, pki } = storage;
  const { catalog, spaces } = kinds;
  const { authorizer, rbac, policyIn, identities, workspaceAuthentication } = access;
  const tenants = tenancy({
    cache,
    tree: spaces.tree,
    organizations: spaces.organizations,
    workspaceLimit: options.workspacesPerOrganization,
    catalogs: spaces.catalogs,
    rbac,
    authorizer,
    authority: () => trustedAuthorities(pki.current),
    homeCreators: options.homeCreators,
    now: lifetime.now,
  });
  for (const [name, view] of tenants.views) spaces.views.set(name, view);
  spaces.visibility.inRoot = visibleWorkspaces({ tree: spaces.tree, rbac, mayEnter: access.mayEnter });
  const backend = { cache, store, admission: admission(parts, tenants, { options, lifetime }), creations: tenants.creations };
  const serving: Serving = {
    ...backend,
    catalog,
    catalogs: spaces.catalogs,
    hub,
    connections: connectionsOf(
      {
        ...storage,
        tunnels: access.nodes.tunnels,
        platform: access.nodes.platform,
        logReader: access.nodes.logReader,
        taskReader: access.nodes.taskReader,
        relays: access.nodes.relays,
        admission: backend.admission,
      },
      options,
      lifetime,
    ),
    virtualKinds: new Map([
      ...reviewKinds({ authorizer, rbac }, (cluster) =>
        cluster === rootCluster ? identities.tokens : workspaceAuthentication.tokensIn(cluster, identities.tokens),
      ),
      ['/bindings', bindings(backend, catalog.resource('', 'v1', 'pods')!)],
    ]),
    computedKinds: new Map([
      [`${metricsGroup}/pods`, podMetrics({ cache, pods: catalog.resource('', 'v1', 'pods')!, usage: access.nodes.usage })],
    ]),
    virtualObjects: tenants.virtualObjects,
    builtinObjects: builtinRoles({ cache, policyIn }),
    virtualSubresources: new Map([
      ['/serviceaccounts/token', identities.tokenRequests],
      ...podActions(backend, catalog.resource('policy', 'v1', 'poddisruptionbudgets')!),
    ]),
  };
  return { serving, tenants };
}

/** The admission plugins, in the order in which they are asked. */
function admission(
  {
    storage: { cache, store, hub, quarantine },
    kinds: { catalog, spaces, webhooks },
    access: { authorizer, rbac, policyIn, nodes },
  }: Parts,
  tenants: Tenancy,
  { options, lifetime: { resources } }: { readonly options: ServerOptions; readonly lifetime: Lifetime },
): Admission {
  const sharing = apiSharing({ cache, hub, catalog, workspaces: spaces, authorizer, rbac });
  resources.use(sharing.expiry);
  return new Admission([
    ...tenants.rules,
    namespaceLifecycle(cache),
    definitionLifecycle,
    nodeIdentityAdmission,
    productSecrets({ platform: nodes.platform }),
    unitPods({ platform: nodes.platform }),
    ...[nodeRestriction(authorizer), ...workloadPlugins.map(exceptUnitPods)].filter(({ name }) => !options.disabledPlugins?.includes(name)),
    ...certificatePlugins(authorizer),
    ...dynamicAdmission({ objects: cache, catalogs: spaces.catalogs, authorizer, client: webhooks, quarantine }),
    // After webhooks and policies of tenants, so that none of them can change what it writes.
    requesterStamps({ platform: nodes.platform }),
    allocationProtection({ platform: nodes.platform, bindings: new Bindings(cache) }),
    ...sharing.plugins,
    objectLimits(options.limits?.objects),
    webhookCountLimit(cache, options.limits?.webhooks?.perWorkspace),
    rbacEscalation({ objects: cache, rbac, roleIn: (cluster, name) => policyIn(cluster).clusterRole(name) }),
    objectLimit({ cache, limit: options.workspaceObjectLimit }),
    storedLimit({ sizes: cache.sizes, organizations: spaces.organizations, limits: options.storedLimits }),
    resourceQuota({ cache, store, quotas: catalog.resource('', 'v1', 'resourcequotas')! }),
  ]);
}
