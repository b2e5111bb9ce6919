import { join, resolve } from 'node:path';
import { rootCluster } from '@capstan/api';
import { rulesOf } from '@capstan/kinds';
import { clientAuthorities, ensurePki, type Pki } from '@capstan/pki';
import { makeDirectory, openEtcdStore, openSqliteStore, type Store } from '@capstan/store';
import { dynamicAdmission } from '../admission/dynamic.ts';
import { namespaceLifecycle } from '../admission/namespace-lifecycle.ts';
import { certificatePlugins } from '../admission/plugins/certificates.ts';
import { workloadPlugins } from '../admission/plugins/workload-plugins.ts';
import { resourceQuota } from '../admission/quota/plugin.ts';
import { rbacEscalation } from '../admission/rbac-escalation.ts';
import { WebhookClient } from '../admission/webhooks/client.ts';
import { auditLog } from '../audit/log.ts';
import { oidc } from '../authn/oidc.ts';
import { staticTokens } from '../authn/static-tokens.ts';
import { bootstrap, systemContext } from '../bootstrap/write.ts';
import { WatchCache } from '../cache/watch-cache.ts';
import { definitionLifecycle } from '../crds/admission.ts';
import { Definitions } from '../crds/definitions.ts';
import { webhookConversion } from '../crds/webhook.ts';
import { Health } from '../handlers/health.ts';
import { Pages } from '../handlers/nonresource.ts';
import { bindings, podActions } from '../handlers/pods/pod-actions.ts';
import type { Serving } from '../handlers/serving.ts';
import { Listener } from '../http/listener.ts';
import { Outbound } from '../http/outbound.ts';
import { Journal, journalPath } from '../journal/journal.ts';
import { flowClassifier } from '../limits/classifier.ts';
import { InFlight } from '../limits/in-flight.ts';
import { OpenCount } from '../limits/open-count.ts';
import { metricsType } from '../metrics/metrics.ts';
import { openApiPages } from '../openapi/pages.ts';
import { Pipeline } from '../pipeline/pipeline.ts';
import { addressesOf } from '../presence/addresses.ts';
import { announce, certificateOptions } from '../presence/announce.ts';
import { installationOf } from '../presence/installation.ts';
import { thisMachine } from '../presence/machine.ts';
import { formerAuthority, refuseOtherInstallation } from '../presence/others.ts';
import { Admission } from '../registry/admission.ts';
import { builtinCatalog } from '../registry/catalog.ts';
import type { Page } from '../registry/page.ts';
import { keepTidy } from '../upkeep/tidiness.ts';
import { WatchHub } from '../watch/hub.ts';
import { WorkspaceAuthentication } from '../workspaces/authentication.ts';
import { builtinRoles } from '../workspaces/builtin-roles.ts';
import { mountedWorkspaces } from '../workspaces/mounts/mounted.ts';
import { objectLimit } from '../workspaces/object-limit.ts';
import { bootstrapRoot } from '../workspaces/root/bootstrap.ts';
import { apiSharing } from './api-sharing.ts';
import { audiences, authentication } from './authentication.ts';
import { connectionGauges, connectionOptions } from './connections.ts';
import { serverMetrics } from './gauges.ts';
import { startKeepers } from './keepers.ts';
import type { RunningServer, ServerOptions } from './options.ts';
import { reviewKinds } from './reviews.ts';
import { rights } from './rights.ts';
import { snapshotPage, snapshotPath } from './snapshot.ts';
import { tenancy } from './tenancy.ts';
import { reportTroubles } from './troubles.ts';
import { versionInfo } from './version.ts';
import { workspaces } from './workspaces.ts';

/** Starts an API server and resolves when it is ready. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const stop = new AbortController();
  const resources = new AsyncDisposableStack();
  resources.defer(() => stop.abort());
  try {
    return await start(options, { stop, resources });
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

async function start(
  options: ServerOptions,
  { stop, resources }: { stop: AbortController; resources: AsyncDisposableStack },
): Promise<RunningServer> {
  const now = (): Date => new Date();
  makeDirectory(resolve(options.dataDirectory));
  const advertised = addressesOf(options, thisMachine()).url;
  const [pki, store] = await Promise.all([ensurePki(join(options.dataDirectory, 'pki'), certificateOptions(options)), openStore(options)]);
  resources.use(store);
  let hub: WatchHub | undefined;
  let journal: Journal | undefined;
  const cache = await WatchCache.load({
    store,
    onLost: (error) => {
      options.log(`the store's watch ended: ${error.message}; reading everything again`);
      hub?.endAll();
      journal?.endAll();
    },
  });
  resources.use(cache);
  checkInstallation(options, { pki, cache, now: now() });
  hub = resources.use(new WatchHub(cache));
  journal = resources.use(new Journal(cache));
  const catalog = builtinCatalog(new Set(options.optionalVersions));
  const outbound = options.outbound && new Outbound(options.outbound);
  const webhooks = resources.use(new WebhookClient(cache, outbound));
  const webhook = webhookConversion(webhooks);
  const definitions = new Definitions({ cache, rules: rulesOf, webhook });
  const spaces = workspaces({ cache, catalog, definitions, webhook });
  const { catalogs, scopes, tree } = spaces;
  const { policyIn, rbac, authorizer } = rights({ cache, catalog }, options.authorization, { resources, log: options.log });
  const sharing = apiSharing({ cache, hub, catalog, workspaces: spaces, authorizer, rbac });
  resources.use(sharing.expiry);
  const tenants = tenancy({
    cache,
    tree,
    catalogs,
    rbac,
    authorizer,
    authority: () => pki.authority.certificate,
    homeCreators: options.homeCreators,
    backend: () => serving,
    now,
  });
  for (const [name, view] of tenants.views) spaces.views.set(name, view);
  const identities = authentication(pki, {
    objects: cache,
    now,
    url: advertised,
    clientAuthority: options.clientAuthority,
    more: [
      ...(options.tokens === undefined ? [] : [staticTokens(options.tokens, audiences)]),
      ...(options.oidc ?? []).map((one) => oidc({ ...one, audiences })),
    ],
  });
  const admission = new Admission([
    ...tenants.rules,
    namespaceLifecycle(cache),
    definitionLifecycle,
    ...workloadPlugins.filter(({ name }) => !options.disabledPlugins?.includes(name)),
    ...certificatePlugins(authorizer),
    ...dynamicAdmission({ objects: cache, catalogs, authorizer, client: webhooks }),
    ...sharing.plugins,
    rbacEscalation({ objects: cache, rbac, roleIn: (cluster, name) => policyIn(cluster).clusterRole(name) }),
    objectLimit({ cache, limit: options.workspaceObjectLimit }),
    resourceQuota({ cache, store, quotas: catalog.resource('', 'v1', 'resourcequotas')! }),
    tenants.birth,
  ]);
  const workspaceAuthentication = new WorkspaceAuthentication({ objects: cache, tree, audiences, outbound });
  const serving: Serving = {
    cache,
    store,
    catalog,
    catalogs,
    hub,
    admission,
    virtualKinds: new Map([
      ...reviewKinds({ authorizer, rbac }, (cluster) =>
        cluster === rootCluster ? identities.tokens : workspaceAuthentication.tokensIn(cluster, identities.tokens),
      ),
      ['/bindings', bindings({ cache, store, admission }, catalog.resource('', 'v1', 'pods')!)],
    ]),
    virtualObjects: tenants.virtualObjects,
    builtinObjects: builtinRoles({ cache, policyIn }),
    virtualSubresources: new Map([
      ['/serviceaccounts/token', identities.tokenRequests],
      ...podActions({ cache, store, admission }, catalog.resource('policy', 'v1', 'poddisruptionbudgets')!),
    ]),
  };
  await bootstrap(serving, now);
  await bootstrapRoot(serving, systemContext(serving, now));
  await startKeepers(serving, { definitions, boundKinds: spaces.boundKinds, resources, now, log: options.log });
  const audit = resources.use(
    auditLog({
      file: join(options.dataDirectory, 'audit.log'),
      onError: (error) => options.log(`the audit log cannot be written: ${error.message}`),
      ...options.audit,
    }),
  );
  const inFlight = new InFlight(options.limits);
  const watches = new OpenCount({ what: 'watches', overall: 20_000, perLine: 2_000, ...options.limits?.watches });
  const metrics = serverMetrics(catalog, { cache, hub, audit, inFlight });
  const health = new Health();
  health.add({ name: 'store', problem: () => store.failure?.message, readyOnly: true });
  const more = new Map<string, Page>([
    ['/metrics', (exchange) => exchange.send({ code: 200, type: metricsType, body: metrics.text() })],
    ['/metrics/slis', (exchange) => exchange.send({ code: 200, type: metricsType, body: health.indicators() })],
    [snapshotPath, snapshotPage(store, options.dataDirectory)],
    ...tenants.pages,
    [journalPath, journal.page],
    ...identities.pages,
    ...openApiPages(serving.catalogs),
  ]);
  const pages = new Pages({
    catalogs: serving.catalogs,
    health,
    version: versionInfo(),
    serverAddress: advertised.slice('https://'.length),
    more,
  });
  const pipeline = new Pipeline({
    serving,
    pages,
    scopes,
    mounted: mountedWorkspaces(options.mounts, { serving, now, log: options.log, resources }),
    authenticator: identities.authenticator,
    workspaceAuthentication,
    authorizer,
    metrics,
    audit,
    classify: flowClassifier(cache),
    inFlight,
    watches,
    now,
    rejections: resources.use(reportTroubles({ store, log: options.log })).rejections,
    onUnexpected: (error, request) => options.log(`${request}: ${error instanceof Error ? error.stack : String(error)}`),
  });
  const listener = await Listener.listen({
    host: options.host,
    port: options.port,
    certificate: pki.serving.certificate,
    key: pki.serving.key,
    clientCa: clientAuthorities(pki, options.clientAuthority),
    handle: pipeline.handle,
    ...connectionOptions(options),
  });
  resources.use(listener);
  for (const gauge of connectionGauges(listener)) metrics.gauge(gauge);
  // Watches end first, then connections, then the store.
  resources.defer(() => {
    hub[Symbol.dispose]();
    journal[Symbol.dispose]();
  });
  const { url, kubeconfigPath } = resources.use(await announce(serving, { options, pki, listener, now, signal: stop.signal }));
  keepTidy(cache, options, { now, signal: stop.signal });
  return running(options, { url, kubeconfigPath, resources });
}

/** Only one server at a time can use a SQLite store, so whoever used it before is gone. */
function checkInstallation(options: ServerOptions, { pki, cache, now }: { pki: Pki; cache: WatchCache; now: Date }): void {
  const comparison = { objects: cache, installation: installationOf(pki), pkiDirectory: pki.directory, now };
  if (options.etcd !== undefined) refuseOtherInstallation(comparison);
  const warning = formerAuthority(comparison);
  if (warning !== undefined) options.log(warning);
}

function running(
  options: ServerOptions,
  { url, kubeconfigPath, resources }: { url: string; kubeconfigPath: string; resources: AsyncDisposableStack },
): RunningServer {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= resources.disposeAsync().then(resolve));
  options.signal?.addEventListener('abort', () => void close(), { once: true });
  if (options.signal?.aborted === true) void close();
  return { url, kubeconfigPath, closed, [Symbol.asyncDispose]: close };
}

function openStore(options: ServerOptions): Promise<Store> {
  return options.etcd === undefined ? openSqliteStore({ directory: join(options.dataDirectory, 'store') }) : openEtcdStore(options.etcd);
}
