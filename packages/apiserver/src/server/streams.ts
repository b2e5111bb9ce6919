import type { ClusterId } from '@capstan/api';
import { clientAuthorities } from '@capstan/pki';
import { adminCertificate } from '../app-access/admin-certificate.ts';
import { AppObjects } from '../app-access/members.ts';
import { clusterProxy } from '../app-access/proxy.ts';
import { memberShell } from '../app-access/shell.ts';
import { Connections } from '../connect/connections.ts';
import { Dialled } from '../connect/dialled.ts';
import { KubeletClient } from '../connect/kubelet.ts';
import { OpenStreams } from '../connect/open-streams.ts';
import type { Tunnels } from '../connect/tunnels.ts';
import { Sockets } from '../http/sockets.ts';
import { stepLog } from '../log-store/step-log.ts';
import { type LogReader, type OtherStores, storedLogs } from '../log-store/stored-logs.ts';
import { taskLog } from '../log-store/task-log.ts';
import type { TaskReader } from '../log-store/task-reader.ts';
import { nodeMetrics } from '../node-agents/node-metrics.ts';
import { unitSecrets } from '../node-agents/unit-secrets.ts';
import type { Admission } from '../registry/admission.ts';
import type { Lifetime, ServerOptions } from './options.ts';
import type { Storage } from './storage.ts';

/** Streams to nodes: how nodes are reached, and which streams are open. */
export function connectionsOf(
  {
    cache,
    pki,
    tunnels,
    admission,
    platform,
    logReader,
    taskReader,
    relays,
  }: Storage & {
    readonly tunnels: Tunnels;
    readonly admission: Admission;
    readonly logReader: LogReader;
    readonly taskReader: TaskReader;
    readonly relays: OtherStores | undefined;
    readonly platform: () => ClusterId | undefined;
  },
  options: ServerOptions,
  { resources }: Lifetime,
): Connections {
  const sockets = new Sockets();
  const kubelets = resources.use(
    new KubeletClient(options.kubelets ?? {}, {
      credentials: { client: pki.current.kubeletClient, authorities: clientAuthorities(pki.current) },
      sockets,
    }),
  );
  const reach = { kubelets, tunnels: options.tunnels ?? tunnels };
  const apps = new AppObjects({ cache, platform });
  const connections = new Connections({
    ...reach,
    cache,
    admission,
    ownSubresources: [
      clusterProxy(apps, reach.tunnels),
      adminCertificate(apps, reach.tunnels),
      memberShell(apps, reach),
      taskLog({ platform, tunnels: reach.tunnels, reader: taskReader, others: relays }),
      stepLog({ objects: apps, tunnels: reach.tunnels, reader: taskReader, others: relays }),
    ],
    streams: new OpenStreams(),
    dialled: new Dialled(sockets),
    storedLogs: storedLogs(logReader, relays),
    nodeSubresources: [unitSecrets(platform), nodeMetrics(platform), ...(options.nodeSubresources ?? [])],
  });
  pki.onReplaced(connections.renew);
  return resources.use(connections);
}
