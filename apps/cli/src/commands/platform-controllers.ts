import { join, resolve } from 'node:path';
import { settleMemory } from '@capstan/apiserver/settle';
import type { Connection } from '@capstan/client';
import { platformLease, platformManager, reportRejections } from '@capstan/platform';
import { type ProcessConfig, readProcessConfig } from '../config/capstan.ts';
import { type PlatformControllersConfig, platformControllersShape } from '../config/platform-controllers.ts';
import { explain } from '../failure.ts';
import { processLog } from '../log.ts';
import { productsWith } from '../products.ts';
import { electionSettings } from './election.ts';
import { withCurrentAuthority } from './kubeconfig.ts';
import { announceManager, listening } from './listening.ts';
import type { ControllerManagerFlags } from './manager-settings.ts';
import { defaultDataDirectory, defaultPlatformHealthPort } from './options.ts';
import { shutdownSignal } from './shutdown.ts';

export interface PlatformControllersFlags extends ControllerManagerFlags {
  /** Where to keep a token for the jobs of the REST API. */
  readonly jobTokenFile?: string;
}

/** Installs the products and runs their controllers in this process until a signal stops it. */
export async function platformControllers(flags: PlatformControllersFlags): Promise<void> {
  const config: ProcessConfig<PlatformControllersConfig> =
    flags.config === undefined ? { settings: {} } : readProcessConfig(flags.config, 'platformControllers', platformControllersShape);
  const settings = platformSettings(flags, config);
  const signal = shutdownSignal();
  const write = processLog({ process: 'platform-controllers', format: flags.logFormat ?? config.logFormat ?? 'text' });
  using _reporting = reportRejections(write);
  settleMemory(signal);
  try {
    await withCurrentAuthority({ path: settings.kubeconfigPath, processName: 'platform-controllers' }, signal, (connection, stop) =>
      runProducts({ settings, connection, write }, stop),
    );
  } catch (error) {
    throw explain(error, settings);
  }
  if (process.connected) process.disconnect();
}

interface Run {
  readonly settings: ReturnType<typeof platformSettings>;
  readonly connection: Connection;
  readonly write: (line: string) => void;
}

async function runProducts({ settings, connection, write }: Run, signal: AbortSignal): Promise<void> {
  const { host, port, leaderElection, kubeconfigPath, silentAfter, jobTokenFile } = settings;
  const products = productsWith(silentAfter === undefined ? {} : { silentAfter });
  using platform = platformManager({
    products,
    connection,
    health: { host, port },
    stopWithin: 5_000,
    log: write,
    ...(leaderElection && { leaderElection }),
    ...(jobTokenFile !== undefined && { tokenFiles: { operator: jobTokenFile } }),
  });
  const running = platform.manager.run(signal);
  const url = await Promise.race([running, listening(platform.manager, host)]);
  if (url !== undefined) {
    const names = products.map(({ name }) => name).join(', ') || 'none';
    write(`platform controllers run against ${connection.server}, products: ${names}, health at ${url}`);
    announceManager(url, { host, kubeconfigPath });
  }
  await running;
}

function platformSettings(flags: PlatformControllersFlags, config: ProcessConfig<PlatformControllersConfig>) {
  const { settings: file } = config;
  const dataDirectory = resolve(flags.dataDir ?? config.dataDirectory ?? defaultDataDirectory);
  const own = join(dataDirectory, 'platform-controllers.kubeconfig');
  const fromFile = flags.dataDir === undefined ? (file.kubeconfigFile ?? own) : own;
  return {
    dataDirectory,
    kubeconfigPath: flags.kubeconfig === undefined ? fromFile : resolve(flags.kubeconfig),
    host: file.listen?.host ?? '127.0.0.1',
    port: flags.port ?? file.listen?.port ?? defaultPlatformHealthPort,
    silentAfter: file.nodes?.silentSeconds === undefined ? undefined : file.nodes.silentSeconds * 1000,
    leaderElection: electionSettings(flags.leaderElect, file.leaderElection, platformLease),
    jobTokenFile: flags.jobTokenFile,
  };
}
