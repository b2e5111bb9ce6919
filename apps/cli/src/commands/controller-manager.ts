import { settleMemory } from '@capstan/apiserver/settle';
import { Client, type Connection } from '@capstan/client';
import { Manager, Metrics, requestMetrics } from '@capstan/controller';
import { addControllers, chosenControllers, controllers } from '@capstan/controllers';
import { type ProcessConfig, readProcessConfig } from '../config/capstan.ts';
import { type ControllerManagerConfig, controllerManagerShape } from '../config/controller-manager.ts';
import { explain } from '../failure.ts';
import { processLog } from '../log.ts';
import { withCurrentAuthority } from './kubeconfig.ts';
import { announceManager, listening } from './listening.ts';
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
  const signal = shutdownSignal();
  const write = processLog({ process: 'controller-manager', format: flags.logFormat ?? config.logFormat ?? 'text' });
  settleMemory(signal);
  try {
    await withCurrentAuthority({ path: settings.kubeconfigPath, processName: 'controller-manager' }, signal, (connection, stop) =>
      runControllers({ settings, file, connection, write }, stop),
    );
  } catch (error) {
    throw explain(error, settings);
  }
  if (process.connected) process.disconnect();
}

interface Run {
  readonly settings: ManagerSettings;
  readonly file: ControllerManagerConfig;
  readonly connection: Connection;
  readonly write: (line: string) => void;
}

async function runControllers({ settings, file, connection, write }: Run, signal: AbortSignal): Promise<void> {
  const { host, port, leaderElection } = settings;
  const metrics = new Metrics();
  const clientOptions = { userAgent, onRequest: requestMetrics(metrics) };
  using client = new Client(connection, clientOptions);
  const manager = new Manager({
    client,
    health: { host, port },
    stopWithin: 5_000,
    log: write,
    metrics,
    ...(leaderElection && { leaderElection }),
  });
  using _accounts = addControllers(manager, chosenControllers(controllers, file.controllers), {
    connection,
    clientOptions,
    signing: settings.signing,
    ...(file.concurrency && { concurrency: file.concurrency }),
    ...(file.useAccounts !== undefined && { useAccounts: file.useAccounts }),
  });
  const running = manager.run(signal);
  const url = await Promise.race([running, listening(manager, host)]);
  if (url !== undefined) {
    write(`controllers run against ${connection.server}, health at ${url}`);
    if (settings.signing === undefined)
      write('certificates are approved but not signed: no signer is configured; see "signing" in the configuration file');
    announceManager(url, { host, kubeconfigPath: settings.kubeconfigPath });
  }
  await running;
}
