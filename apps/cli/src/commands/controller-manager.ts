import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type Connection, connectionOf, loadKubeconfig } from '@capstan/client';
import { Manager } from '@capstan/controller';
import { chosenControllers, controllers } from '@capstan/controllers';
import { explain, Failure } from '../failure.ts';
import { defaultDataDirectory, defaultHealthPort } from './options.ts';
import { shutdownSignal } from './shutdown.ts';

/** What may stand on the command line of `capstan controller-manager`. */
export interface ControllerManagerFlags {
  readonly kubeconfig?: string;
  readonly dataDir?: string;
  readonly port?: number;
  /** False when whoever starts it sees to it that there is one only. */
  readonly leaderElect?: boolean;
}

const host = '127.0.0.1';

/** Runs the controllers in this process until it is told to stop. */
export async function controllerManager(flags: ControllerManagerFlags): Promise<void> {
  const dataDirectory = resolve(flags.dataDir ?? defaultDataDirectory);
  const kubeconfigPath = flags.kubeconfig === undefined ? join(dataDirectory, 'admin.kubeconfig') : resolve(flags.kubeconfig);
  const port = flags.port ?? defaultHealthPort;
  const connection = readConnection(kubeconfigPath);
  const signal = shutdownSignal();
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  using client = new Client(connection, { userAgent: 'capstan-controller-manager' });
  const manager = new Manager({
    client,
    health: { host, port },
    stopWithin: 5_000,
    log: write,
    ...(flags.leaderElect !== false && { leaderElection: { namespace: 'kube-system', name: 'capstan-controller-manager' } }),
  });
  const authority = connection.ca?.toString();
  for (const { make } of chosenControllers(controllers)) manager.add(make({ authority, concurrency: undefined }));
  const running = manager.run(signal);
  try {
    const url = await Promise.race([running, listening(manager)]);
    if (url !== undefined) {
      write(`controllers run against ${connection.server}, health at ${url}`);
      process.send?.({ type: 'ready', url, kubeconfigPath });
    }
    await running;
  } catch (error) {
    throw explain(error, { dataDirectory, host, port });
  }
  if (process.connected) process.disconnect();
}

/** Where health is served, as soon as it is. */
async function listening(manager: Manager): Promise<string> {
  while (manager.healthPort === undefined) await sleep(5, undefined, { ref: false });
  return `http://${host}:${manager.healthPort}`;
}

function readConnection(path: string): Connection {
  if (!existsSync(path)) {
    throw new Failure('usage', `${path} is not there. Start the API server first, or name a kubeconfig with --kubeconfig.`);
  }
  try {
    return connectionOf(loadKubeconfig({ path }));
  } catch (error) {
    throw new Failure('usage', `${path} cannot be used: ${(error as Error).message}`, error);
  }
}
