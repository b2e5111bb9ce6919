import { join } from 'node:path';
import {
  type ClusterId,
  type NodeGpuMetrics,
  type NodeUnit,
  nodeTaskKind,
  nodeUnitKind,
  platformWorkspace,
  type UnitUsage,
} from '@capstan/api';
import { trustedAuthorities } from '@capstan/pki';
import { AgentArchives } from '../agent-archives/archives.ts';
import { archivePages } from '../agent-archives/pages.ts';
import { artifactPages } from '../artifacts/page.ts';
import { relayedArtifacts } from '../artifacts/relayed.ts';
import { ArtifactStore } from '../artifacts/store.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Serving } from '../handlers/serving.ts';
import { logPage } from '../log-store/page.ts';
import { isOfNode } from '../log-store/places.ts';
import { Readers } from '../log-store/readers.ts';
import { RecentObjects } from '../log-store/recent-objects.ts';
import { LogStore } from '../log-store/store.ts';
import { LogReader } from '../log-store/stored-logs.ts';
import { isTaskPath, TaskReader } from '../log-store/task-reader.ts';
import { keepLogsTidy } from '../log-store/upkeep.ts';
import type { Gauge } from '../metrics/metrics.ts';
import { AgentConnections } from '../node-agents/connections.ts';
import { EnrollmentTokens } from '../node-agents/enrollment-tokens.ts';
import { deleteOldEnrollments } from '../node-agents/enrollment-upkeep.ts';
import { NodeIdentities } from '../node-agents/identities.ts';
import { NodeSigner } from '../node-agents/issuing.ts';
import { NodeMembership } from '../node-agents/membership.ts';
import { NodeObjects } from '../node-agents/objects.ts';
import { nodePages } from '../node-agents/pages.ts';
import { parseGpus, parseUsage } from '../node-usage/answers.ts';
import { NodeReader } from '../node-usage/node-reader.ts';
import { leaseName, liveServers } from '../presence/lease.ts';
import { thisMachine } from '../presence/machine.ts';
import type { Page } from '../registry/page.ts';
import { Heartbeats } from '../tunnels/heartbeats.ts';
import { type LeaseRenewalOptions, leaseRenewal } from '../tunnels/lease-renewal.ts';
import { NodeTunnels } from '../tunnels/node-tunnels.ts';
import { tunnelPages } from '../tunnels/pages.ts';
import type { RelayedStores } from '../tunnels/relayed.ts';
import { Relays } from '../tunnels/relays.ts';
import { rememberedWorkspace } from '../workspaces/remembered.ts';
import type { Tree } from '../workspaces/tree.ts';
import type { Access } from './access.ts';
import { audiences } from './audiences.ts';
import type { LivePki } from './live-pki.ts';
import type { Lifetime, ServerOptions } from './options.ts';

/** Who the nodes are. */
export interface Nodes {
  /** The workspace of the fleet; undefined until it exists. */
  readonly platform: () => ClusterId | undefined;
  readonly identities: NodeIdentities;
  readonly connections: AgentConnections;
  readonly tokens: EnrollmentTokens;
  readonly tunnels: NodeTunnels;
  /** The use of resources by the units of a node, and the numbers of its GPUs. */
  readonly usage: NodeReader<readonly UnitUsage[]>;
  readonly gpus: NodeReader<readonly NodeGpuMetrics[]>;
  /** The output of units and tasks. */
  readonly logs: LogStore;
  readonly logReader: LogReader;
  readonly taskReader: TaskReader;
  /** The name of this server among all. */
  readonly server: string;
  /** Undefined if this server has no credentials for the others. */
  readonly relays: Relays | undefined;
}

/** Before connections are cut at the end of the server, in milliseconds: agents learn that they have to turn to others. */
const shutdownGrace = 500;

export function nodesOf(
  { pki, cache, tree }: { readonly pki: LivePki; readonly cache: WatchCache; readonly tree: Tree },
  { dataDirectory, etcd, tunnelLimits, tunnels: others, usageAge: maxAge, logs: logOptions = {} }: ServerOptions,
  { resources, now }: Lifetime,
): Nodes {
  const platform = rememberedWorkspace(platformWorkspace, { tree, cache });
  const identities = new NodeIdentities({ cache, platform });
  const own = leaseName(thisMachine().hostname, dataDirectory);
  const relays =
    // Nobody shares a SQLite store.
    etcd === undefined || pki.current.apiServer === undefined
      ? undefined
      : new Relays({
          others: () => liveServers(cache, now()).filter(({ name }) => name !== own),
          tls: () => ({
            ca: trustedAuthorities(pki.current),
            cert: pki.current.apiServer?.certificate,
            key: pki.current.apiServer?.key,
          }),
        });
  const tunnels = new NodeTunnels({ limits: { grace: shutdownGrace, ...tunnelLimits }, elsewhere: relays });
  const logs = new LogStore({
    directory: logOptions.directory ?? join(dataDirectory, 'logs'),
    limits: logOptions,
    exists: (owner) => isOfNode(owner) || tree.exists(owner),
    now: () => now().getTime(),
  });
  const readers = new Readers();
  return {
    platform,
    identities,
    server: own,
    relays,
    tunnels,
    logs,
    logReader: new LogReader({ store: logs, readers, now: () => now().getTime() }),
    taskReader: new TaskReader({ store: logs, readers }),
    usage: resources.use(new NodeReader({ tunnels: others ?? tunnels, path: '/units/usage', parse: parseUsage, maxAge })),
    gpus: resources.use(new NodeReader({ tunnels: others ?? tunnels, path: '/metrics', parse: parseGpus, maxAge })),
    connections: resources.use(new AgentConnections({ identities, now: () => now().getTime() })),
    tokens: new EnrollmentTokens({ cache, platform, now, audiences }),
  };
}

const day = 24 * 60 * 60 * 1000;

/** How machines become nodes. */
export function membershipOf(
  { platform, identities, tokens }: Nodes,
  { serving, pki, now }: { readonly serving: Serving; readonly pki: LivePki; readonly now: () => Date },
  { nodeCertificateLifetime = day, log }: ServerOptions,
): NodeMembership {
  return new NodeMembership({
    cache: serving.cache,
    identities,
    tokens,
    objects: new NodeObjects(serving, { platform, now }),
    signer: pki.derived((present) => new NodeSigner(present)),
    lifetime: nodeCertificateLifetime,
    now,
    log,
  });
}

/** How nodes say that they live. */
export function heartbeatsOf(
  { identities: { authenticator }, authorizer }: Pick<Access, 'identities' | 'authorizer'>,
  parts: Omit<LeaseRenewalOptions, 'authenticator' | 'authorizer'>,
): Heartbeats {
  return new Heartbeats({ renew: leaseRenewal({ ...parts, authenticator, authorizer }) });
}

/** Deletes enrolments that are over, until the signal aborts. */
export function keepNodesTidy(
  { platform, tokens, logs }: Nodes,
  serving: Serving,
  { now, signal, log }: Lifetime & Pick<ServerOptions, 'log'>,
): void {
  const objects = new NodeObjects(serving, { platform, now });
  keepLogsTidy(logs, {
    cache: serving.cache,
    signal,
    onError: (error) => log(`old output could not be deleted: ${String(error)}`),
  });
  deleteOldEnrollments({
    ...{ tokens, objects, now, signal },
    onError: (error) => log(`old enrolments could not be deleted: ${String(error)}`),
  });
}

/** The pages for machines, nodes, and servers that share them. */
export function nodePagesOf(
  { nodes, identities: { authenticator } }: Pick<Access, 'nodes' | 'identities'>,
  {
    membership,
    heartbeats,
    cache,
    pki,
    now,
    audit,
  }: {
    membership: NodeMembership;
    heartbeats: Heartbeats;
    cache: WatchCache;
    pki: LivePki;
    now: () => Date;
    audit: RelayedStores['audit'];
  },
  { version, agentArchives, dataDirectory, artifacts: artifactOptions }: ServerOptions,
): [string, Page][] {
  const artifacts = new ArtifactStore({
    directory: artifactOptions?.directory ?? join(dataDirectory, 'artifacts'),
    limits: artifactOptions,
    now,
  });
  const known = { cache, platform: nodes.platform };
  const units = new RecentObjects({ ...known, resource: nodeUnitKind.resource, pick: (object) => (object as NodeUnit).spec.owner });
  const tasks = new RecentObjects({ ...known, resource: nodeTaskKind.resource, pick: ({ metadata }) => metadata.uid ?? '' });
  const { logReader, taskReader } = nodes;
  const storedLog: LogReader['serve'] = (path, signal) => (isTaskPath(path) ? taskReader.serve(path) : logReader.serve(path, signal));
  return [
    logPage({ ...nodes, units, tasks }),
    ...tunnelPages({ ...nodes, heartbeats, authenticator, stores: { storedLog, artifacts: relayedArtifacts(artifacts), audit } }),
    ...artifactPages(artifacts, nodes.relays),
    ...nodePages({ membership, objects: cache, authority: () => trustedAuthorities(pki.current), version, now }),
    ...archivePages(new AgentArchives(agentArchives)),
  ];
}

export function nodeGauges(
  { tunnels, connections, relays }: Nodes,
  { membership: { refusals }, heartbeats }: { readonly membership: NodeMembership; readonly heartbeats: Heartbeats },
): Gauge[] {
  return [
    { name: 'capstan_node_tunnels', help: 'Nodes with a tunnel to this server.', value: () => tunnels.count },
    {
      name: 'capstan_node_tunnel_streams',
      help: 'Open streams in tunnels, without those for heartbeats.',
      value: () => tunnels.openStreams - heartbeats.streams,
    },
    { name: 'capstan_node_agent_connections', help: 'Open connections of node agents.', value: () => connections.count },
    {
      name: 'capstan_node_relays',
      help: 'Open connections to other API servers for the tunnels of nodes.',
      value: () => relays?.count ?? 0,
    },
    {
      name: 'capstan_node_heartbeats_total',
      help: 'Heartbeats of nodes through tunnels: Leases that were renewed, and those that were left to requests.',
      type: 'counter',
      value: () => ({ label: 'result', numbers: heartbeats.results }),
    },
    {
      name: 'capstan_node_refusals_total',
      help: 'Requests of machines that got no certificate, by reason.',
      type: 'counter',
      value: () => ({ label: 'reason', numbers: refusals }),
    },
  ];
}
