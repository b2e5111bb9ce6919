import { join } from 'node:path';
import { metricsType } from '@capstan/machinery';
import { clientAuthorities } from '@capstan/pki';
import { AppObjects } from '../app-access/members.ts';
import { appReportsPage } from '../app-access/reports.ts';
import { auditLog } from '../audit/log.ts';
import { cursorKey } from '../audit/query/cursor.ts';
import { AuditQueries } from '../audit/query/query.ts';
import { Revocations } from '../authn/revocations.ts';
import { Health } from '../handlers/health.ts';
import { Pages } from '../handlers/nonresource.ts';
import type { Serving } from '../handlers/serving.ts';
import { Listener } from '../http/listener.ts';
import { journalPath } from '../journal/journal.ts';
import { ByteBudget } from '../limits/byte-budget.ts';
import { flowClassifier } from '../limits/classifier.ts';
import { InFlight } from '../limits/in-flight.ts';
import { OpenCount } from '../limits/open-count.ts';
import { nodeMetricsPage } from '../node-usage/page.ts';
import { openApiPages } from '../openapi/pages.ts';
import { Pipeline } from '../pipeline/pipeline.ts';
import { addressesOf } from '../presence/addresses.ts';
import { thisMachine } from '../presence/machine.ts';
import type { Page } from '../registry/page.ts';
import { UsageLedger } from '../usage/ledger.ts';
import { mountedWorkspaces } from '../workspaces/mounts/mounted.ts';
import { auditPage } from './audit-page.ts';
import { clientsOf } from './clients.ts';
import type { Parts } from './composition.ts';
import { connectionGauges, connectionOptions } from './connections.ts';
import { serverMetrics } from './gauges.ts';
import { heartbeatsOf, membershipOf, nodeGauges, nodePagesOf } from './nodes.ts';
import type { Lifetime, ServerOptions } from './options.ts';
import { snapshotPage, snapshotPath } from './snapshot.ts';
import type { Tenancy } from './tenancy.ts';
import { reportTroubles } from './troubles.ts';
import { usagePage } from './usage-page.ts';
import { versionInfo } from './version.ts';

/** A kubelet watches each secret and config map of its pods. */
const watchesOfAgents = { overall: 40_000, perLine: 1_000 };

function watchCount(limits: NonNullable<ServerOptions['limits']>['watches'] = {}): OpenCount {
  return new OpenCount({ what: 'watches', overall: 20_000, perLine: 2_000, ...limits, agents: { ...watchesOfAgents, ...limits.agents } });
}

export interface EndpointParts extends Parts {
  readonly serving: Serving;
  readonly tenants: Tenancy;
}

/** Listens, and takes every request through the pipeline. */
export async function openEndpoint(parts: EndpointParts, options: ServerOptions, { resources, now }: Lifetime): Promise<Listener> {
  const { serving, storage, kinds, access } = parts;
  const { store, cache, hub, journal, pki } = storage;
  const logFile = options.audit?.file ?? join(options.dataDirectory, 'audit.log');
  const audit = resources.use(
    auditLog({
      file: logFile,
      onError: (error) => options.log(`the audit log is incomplete: ${error.message}`),
      ...options.audit,
    }),
  );
  const inFlight = new InFlight(options.limits);
  const metrics = serverMetrics(kinds.catalog, { cache, hub, audit, inFlight, connections: serving.connections });
  const health = new Health();
  health.add({ name: 'store', problem: () => store.failure?.message, readyOnly: true });
  const own: [string, Page][] = [
    ['/metrics', (exchange) => exchange.send({ code: 200, type: metricsType, body: metrics.text() })],
    ['/metrics/slis', (exchange) => exchange.send({ code: 200, type: metricsType, body: health.indicators() })],
  ];
  const auditQueries = new AuditQueries({
    file: logFile,
    name: access.nodes.server,
    others: access.nodes.relays?.auditLogs,
    organizationOf: kinds.spaces.organizations.of,
    // All servers of an installation have this key.
    key: cursorKey(pki.current.serviceAccounts.privateKey),
  });
  const membership = membershipOf(access.nodes, { serving, pki, now }, options);
  const heartbeats = heartbeatsOf(access, { serving, scopes: kinds.spaces.scopes, audit, now });
  const pipeline = new Pipeline({
    serving,
    pages: new Pages({
      catalogs: serving.catalogs,
      health,
      version: versionInfo(),
      serverAddress: addressesOf(options, thisMachine()).url.slice('https://'.length),
      more: new Map([
        ...own,
        auditPage(auditQueries, kinds.spaces.tree),
        usagePage(new UsageLedger(store), { tree: kinds.spaces.tree, now }),
        nodeMetricsPage({ ...access.nodes, cache, maxAge: options.usageAge }),
        ...nodePagesOf(access, { membership, heartbeats, cache, pki, now, audit: auditQueries.log }, options),
        appReportsPage({
          serving,
          objects: new AppObjects({ cache, platform: access.nodes.platform }),
          accounts: access.identities.appAccounts,
          identities: access.nodes.identities,
          resolve: (workspace) => kinds.spaces.tree.resolve(workspace),
          now,
        }),
        ...pagesOf(parts, options),
      ]),
    }),
    scopes: kinds.spaces.scopes,
    mounted: mountedWorkspaces(options.mounts, { serving, now, log: options.log, resources }),
    authenticator: access.identities.authenticator,
    workspaceAuthentication: access.workspaceAuthentication,
    authorizer: access.authorizer,
    metrics,
    audit,
    classify: flowClassifier(cache),
    organizationOf: kinds.spaces.organizations.of,
    inFlight,
    clients: clientsOf(options, metrics),
    unfinished: new OpenCount({ what: 'requests with unfinished bodies', overall: 4_000, perLine: 1_000, ...options.limits?.unfinished }),
    bodies: new ByteBudget({ overall: 256 << 20, perTenant: 64 << 20, ...options.limits?.bodyBytes }),
    watches: watchCount(options.limits?.watches),
    revocations: resources.use(new Revocations({ authenticator: access.identities.authenticator })),
    streams: new OpenCount({ what: 'streams', overall: 10_000, perLine: 1_000, ...options.limits?.streams }),
    now,
    rejections: resources.use(reportTroubles({ store, log: options.log })).rejections,
    onUnexpected: (error, request) => options.log(`${request}: ${error instanceof Error ? error.stack : String(error)}`),
  });
  for (const gauge of nodeGauges(access.nodes, { membership, heartbeats })) metrics.gauge(gauge);
  const listener = resources.use(
    await Listener.listen({
      host: options.host,
      port: options.port,
      certificate: pki.current.serving.certificate,
      key: pki.current.serving.key,
      clientCa: clientAuthorities(pki.current, options.clientAuthority),
      handle: pipeline.handle,
      ...connectionOptions(options, serving.connections.sockets),
    }),
  );
  for (const gauge of connectionGauges(listener)) metrics.gauge(gauge);
  // Watches and streams end first, then tunnels, then connections, then the store.
  resources.use(access.nodes.tunnels);
  resources.defer(() => {
    serving.connections.end();
    hub[Symbol.dispose]();
    journal[Symbol.dispose]();
  });
  return listener;
}

function pagesOf({ serving, tenants, storage, access }: EndpointParts, { dataDirectory }: ServerOptions): (readonly [string, Page])[] {
  return [
    [snapshotPath, snapshotPage(storage.store, dataDirectory)],
    ...tenants.pages(serving),
    [journalPath, storage.journal.page],
    ...access.identities.pages,
    ...openApiPages(serving.catalogs),
  ];
}
