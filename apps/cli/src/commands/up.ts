import { relative, resolve } from 'node:path';
import { formatAdvertise } from '../config/advertise.ts';
import { readWholeConfig, type WholeConfig } from '../config/capstan.ts';
import { explain } from '../failure.ts';
import { holdDirectory } from '../holder.ts';
import { childLog, processLog } from '../log.ts';
import { type ProcessDescription, type ReadyMessage, supervise } from '../supervise/supervisor.ts';
import { type ApiServerFlags, defaultDataDirectory, defaultHost, defaultPort } from './options.ts';
import { shutdownSignal } from './shutdown.ts';

/** The same as for the API server. */
export type UpFlags = ApiServerFlags;

/** The children run this same program, started the same way. */
const program = process.argv[1]!;

/** Runs every process of Capstan as a child, restarting each on its own. Resolves with the exit code. */
export async function up(flags: UpFlags): Promise<number> {
  const file = flags.config === undefined ? {} : readWholeConfig(flags.config);
  const dataDirectory = resolve(flags.dataDir ?? file.dataDirectory ?? defaultDataDirectory);
  const { host = defaultHost, port = defaultPort } = { ...file.apiserver?.listen, ...flags };
  using _held = hold(dataDirectory, { host, port: Number(port) });
  const signal = shutdownSignal();
  const format = flags.logFormat ?? file.logFormat ?? 'text';
  const write = processLog({ process: 'up', format });
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
  // The controllers end first, while the API server still accepts their last writes.
  const idle = new AbortController();
  const keep = async (description: ProcessDescription, until: AbortSignal): Promise<number> => {
    const code = await supervise(description, {
      program,
      write,
      writeChild: childLog({ process: description.name, format }),
      onReady,
      signal: until,
      grace: 10_000,
    });
    // A process that can never start ends everything: half a Capstan would only hide the problem.
    failed.abort();
    return code;
  };
  const codes = await Promise.all([
    keep({ name: 'apiserver', args: ['apiserver', ...apiServerArguments(flags)] }, idle.signal),
    // Until the server is ready, the kubeconfig is missing or belongs to the last start.
    serves.promise
      .then(() => keep({ name: 'controller-manager', args: ['controller-manager', ...managerArguments(flags, file)] }, stop))
      .finally(() => idle.abort()),
  ]);
  return Math.max(...codes);
}

/** Only the flags that were given: the processes read the file themselves, and flags override it. */
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
  // Only one `capstan up` can use a directory with SQLite, so there is no second manager to contend with: skip the leader election.
  const isAlone =
    flags.etcdEndpoints === undefined && apiserver?.etcd === undefined && controllerManager?.leaderElection?.enabled !== 'true';
  return [
    ...commonArguments(flags),
    ...(controllerManager?.listen?.port === undefined ? ['--port', '0'] : []),
    ...(isAlone ? ['--no-leader-elect'] : []),
  ];
}

function commonArguments({ config, dataDir, logFormat }: UpFlags): string[] {
  return [
    ...(config === undefined ? [] : ['--config', config]),
    ...(dataDir === undefined ? [] : ['--data-dir', dataDir]),
    ...(logFormat === undefined ? [] : ['--log-format', logFormat]),
  ];
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
