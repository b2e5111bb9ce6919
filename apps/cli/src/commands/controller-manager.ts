import { setTimeout as sleep } from 'node:timers/promises';
import { settleMemory } from '@capstan/apiserver/settle';
import { Client, type Connection } from '@capstan/client';
import { Manager } from '@capstan/controller';
import { chosenControllers, controllers } from '@capstan/controllers';
import { type ProcessConfig, readProcessConfig } from '../config/capstan.ts';
import { type ControllerManagerConfig, controllerManagerShape } from '../config/controller-manager.ts';
import { explain } from '../failure.ts';
import { processLog } from '../log.ts';
import { announceReady } from '../supervise/description.ts';
import { readConnection } from './kubeconfig.ts';
import { type ControllerManagerFlags, type ManagerSettings, managerSettings } from './manager-settings.ts';
import { shutdownSignal } from './shutdown.ts';

export type { ControllerManagerFlags } from './manager-settings.ts';

const userAgent = 'capstan-controller-manager';

/** Runs the controllers in this process until a signal stops it. */
export async function controllerManager(flags: ControllerManagerFlags): Promise<void> {
  const config: ProcessConfig<ControllerManagerConfig> =
    flags.config === undefined ? { settings: {} } : readProcessConfig(flags.config, 'controllerManager', controllerManagerShape);
  const { settings: file } = config;
  const settings = managerSettings(flags, config);
  const { host, port, leaderElection } = settings;
  const connection = readConnection(settings.kubeconfigPath);
  const signal = shutdownSignal();
  const write = processLog({ process: 'controller-manager', format: flags.logFormat ?? config.logFormat ?? 'text' });
  using clients = new DisposableStack();
  const client = clients.use(new Client(connection, { userAgent }));
  const manager = new Manager({ client, health: { host, port }, stopWithin: 5_000, log: write, ...(leaderElection && { leaderElection }) });
  addControllers(manager, { file, settings, connection, clients });
  settleMemory(signal);
  const running = manager.run(signal);
  try {
    const url = await Promise.race([running, listening(manager, host)]);
    if (url !== undefined) {
      write(`controllers run against ${connection.server}, health at ${url}`);
      if (settings.signing === undefined)
        write('certificates are approved but not signed: no signer is configured; see "signing" in the configuration file');
      announceReady({
        url,
        kubeconfigPath: settings.kubeconfigPath,
        ports: [{ name: 'health', host, port: Number(new URL(url).port) }],
        health: { url: `${url}/readyz` },
      });
    }
    await running;
  } catch (error) {
    throw explain(error, settings);
  }
  if (process.connected) process.disconnect();
}

interface Parts {
  readonly file: ControllerManagerConfig;
  readonly settings: ManagerSettings;
  readonly connection: Connection;
  readonly clients: DisposableStack;
}

/** Each controller uses its own service account, so that none has the rights of another. */
function addControllers(manager: Manager, { file, settings, connection, clients }: Parts): void {
  const authority = connection.ca?.toString();
  const known = new Map<string, Client>();
  const clientOf = (account: string, cluster: string): Client => {
    const place = `${account} ${cluster}`;
    const impersonate = { user: `system:serviceaccount:kube-system:${account}` };
    const client =
      known.get(place) ??
      clients.use(new Client({ ...connection, ...(account !== '' && { impersonate }) }, { userAgent })).cluster(cluster);
    known.set(place, client);
    return client;
  };
  for (const { name, account, workspaces, make } of chosenControllers(controllers, file.controllers)) {
    const runnable = make({ authority, signing: settings.signing, concurrency: file.concurrency?.[name] });
    manager.add(runnable, { client: clientOf(file.useAccounts === false ? '' : account, workspaces === 'root' ? 'root' : '*') });
  }
}

/** Resolves with the health URL once it is served. */
async function listening(manager: Manager, host: string): Promise<string> {
  while (manager.healthPort === undefined) await sleep(5, undefined, { ref: false });
  return `http://${host.includes(':') ? `[${host}]` : host}:${manager.healthPort}`;
}
