import { relative, resolve } from 'node:path';
import { formatAdvertise } from '../config/advertise.ts';
import { readWholeConfig, type WholeConfig } from '../config/capstan.ts';
import { explain } from '../failure.ts';
import { holdDirectory } from '../holder.ts';
import { type ProcessDescription, type ReadyMessage, supervise } from '../supervise/supervisor.ts';
import { type ApiServerFlags, defaultDataDirectory, defaultHost, defaultPort } from './options.ts';
import { shutdownSignal } from './shutdown.ts';

/** Those of the API server. */
export type UpFlags = ApiServerFlags;

/** The children are this very program, started as it was. */
const program = process.argv[1]!;

/** The embedded whole: every process of Capstan as a child that restarts alone. Resolves with the exit code. */
export async function up(flags: UpFlags): Promise<number> {
  const file = flags.config === undefined ? {} : readWholeConfig(flags.config);
  const dataDirectory = resolve(flags.dataDir ?? file.dataDirectory ?? defaultDataDirectory);
  const { host = defaultHost, port = defaultPort } = { ...file.apiserver?.listen, ...flags };
  using _held = hold(dataDirectory, { host, port: Number(port) });
  const signal = shutdownSignal();
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  let announced = false;
  const serves = Promise.withResolvers<void>();
  const onReady = (name: string, message: ReadyMessage): void => {
    if (name !== 'apiserver') return;
    if (!announced) for (const line of readyLines(message)) write(line);
    announced = true;
    serves.resolve();
  };
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  stop.addEventListener('abort', () => serves.resolve(), { once: true });
  // The controllers end first: what they are about to write still finds a server.
  const idle = new AbortController();
  const keep = async (description: ProcessDescription, until: AbortSignal): Promise<number> => {
    const code = await supervise(description, { program, write, onReady, signal: until, grace: 10_000 });
    // One that cannot start for good ends the whole: half a Capstan would only hide it.
    failed.abort();
    return code;
  };
  const codes = await Promise.all([
    keep({ name: 'apiserver', args: ['apiserver', ...apiServerArguments(flags)] }, idle.signal),
    // Before it serves, the kubeconfig is not there, or is that of the last start.
    serves.promise
      .then(() => keep({ name: 'controller-manager', args: ['controller-manager', ...managerArguments(flags, file)] }, stop))
      .finally(() => idle.abort()),
  ]);
  return Math.max(...codes);
}

/** Only flags that were given: the processes read the file themselves, and flags win over it. */
function apiServerArguments({ host, port, advertise, etcdEndpoints, runtimeConfig, ...common }: UpFlags): string[] {
  const flag = (name: string, value: string | number | undefined): string[] => (value === undefined ? [] : [`--${name}`, String(value)]);
  return [
    ...commonArguments(common),
    ...flag('host', host),
    ...flag('port', port),
    ...flag('advertise', advertise && formatAdvertise(advertise)),
    ...flag('etcd-endpoints', etcdEndpoints?.join(',')),
    ...flag('runtime-config', runtimeConfig?.map((version) => `${version}=true`).join(',')),
  ];
}

function managerArguments(flags: UpFlags, { apiserver, controllerManager }: WholeConfig): string[] {
  // A directory with SQLite is held by one `capstan up` alone: there is no second manager to contend with, and a new one works at once.
  const isAlone =
    flags.etcdEndpoints === undefined && apiserver?.etcd === undefined && controllerManager?.leaderElection?.enabled !== 'true';
  return [
    ...commonArguments(flags),
    ...(controllerManager?.listen?.port === undefined ? ['--port', '0'] : []),
    ...(isAlone ? ['--no-leader-elect'] : []),
  ];
}

function commonArguments({ config, dataDir }: UpFlags): string[] {
  return [...(config === undefined ? [] : ['--config', config]), ...(dataDir === undefined ? [] : ['--data-dir', dataDir])];
}

function hold(dataDirectory: string, { host, port }: { host: string; port: number }): Disposable {
  try {
    return holdDirectory(dataDirectory);
  } catch (error) {
    throw explain(error, { dataDirectory, host, port });
  }
}

function readyLines({ url, kubeconfigPath }: ReadyMessage): string[] {
  const near = relative(process.cwd(), kubeconfigPath);
  const path = near.startsWith('..') ? kubeconfigPath : near;
  return [
    `Capstan is ready at ${url}. Next: export KUBECONFIG=${path} && kubectl get namespaces`,
    'Nothing runs pods here until a node joins: Deployments and Pods are stored, and stay pending.',
  ];
}
