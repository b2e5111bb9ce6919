import { join, resolve } from 'node:path';
import { formatAdvertise } from '../config/advertise.ts';
import type { ManagerSection, WholeConfig } from '../config/capstan.ts';
import type { ProcessDescription } from '../supervise/description.ts';
import { type ApiServerFlags, defaultDataDirectory, defaultPort } from './options.ts';

/** The flags of the API server, and those of the node on this machine. */
export interface UpFlags extends ApiServerFlags {
  /** False: this machine is no node. */
  readonly node?: boolean;
  /** False: no console for browsers. */
  readonly console?: boolean;
  /** A file that declares the GPUs of this machine. */
  readonly gpus?: string;
}

/** The processes of a Capstan on one machine, in the order in which they start. */
export function processTable(flags: UpFlags, file: WholeConfig): readonly ProcessDescription[] {
  return [
    { name: 'apiserver', command: { type: 'own', args: ['apiserver', ...apiServerArguments(flags)] } },
    {
      name: 'controller-manager',
      command: { type: 'own', args: ['controller-manager', ...managerArguments(flags, file, file.controllerManager)] },
      // Until the server is ready, the kubeconfig is missing or belongs to the last start.
      needs: ['apiserver'],
    },
    {
      name: 'platform-controllers',
      command: {
        type: 'own',
        args: ['platform-controllers', ...managerArguments(flags, file, file.platformControllers), ...jobToken(flags, file)],
      },
      needs: ['apiserver'],
      // A problem with a product must not take the API down.
      optional: true,
    },
    ...(file.runtimeApi?.enabled === 'false' ? [] : [restApi(flags, file)]),
    ...(flags.console === false || file.console?.enabled === 'false' ? [] : [consoleFor(flags, file)]),
    ...(flags.node === false || usesEtcd(flags, file) ? [] : [localNode(flags, file)]),
  ];
}

/** Beside the API server: one port above its, unless the file says otherwise. */
function restApi(flags: UpFlags, file: WholeConfig): ProcessDescription {
  const { listen, health } = file.runtimeApi ?? {};
  return {
    name: 'runtime-api',
    command: {
      type: 'own',
      args: [
        'runtime-api',
        ...commonArguments(flags),
        ...(listen?.port === undefined ? ['--port', portAbove(1, flags, file)] : []),
        ...(health?.port === undefined ? ['--health-port', '0'] : []),
        ...jobToken(flags, file),
      ],
    },
    needs: ['apiserver'],
    optional: true,
  };
}

/** The platform's controllers keep a token in a file, with which the REST API works on jobs, unless the configuration names another. */
function jobToken({ dataDir }: UpFlags, { dataDirectory, runtimeApi }: WholeConfig): string[] {
  if (runtimeApi?.enabled === 'false' || runtimeApi?.jobs?.tokenFile !== undefined) return [];
  return ['--job-token-file', join(resolve(dataDir ?? dataDirectory ?? defaultDataDirectory), 'jobs.token')];
}

/** Two ports above the API server, in front of it and of the REST API. */
function consoleFor(flags: UpFlags, file: WholeConfig): ProcessDescription {
  const { listen, health } = file.console ?? {};
  const restPort = file.runtimeApi?.listen?.port ?? portAbove(1, flags, file);
  return {
    name: 'console',
    command: {
      type: 'own',
      args: [
        'console-server',
        ...commonArguments(flags),
        ...(listen?.port === undefined ? ['--port', portAbove(2, flags, file)] : []),
        ...(health?.port === undefined ? ['--health-port', '0'] : []),
        ...['--rest-url', `http://127.0.0.1:${restPort}`],
      ],
    },
    needs: ['apiserver'],
    optional: true,
  };
}

/** Any free one if there is none above. */
function portAbove(by: number, flags: UpFlags, file: WholeConfig): string {
  const port = Number(flags.port ?? file.apiserver?.listen?.port ?? defaultPort) + by;
  return String(port > highestPort ? 0 : port);
}

const highestPort = 65_535;

/** This machine as a node of its own fleet. Where several machines share a store, owners enrol those that shall be nodes. */
function localNode({ dataDir, logFormat, gpus }: UpFlags, file: WholeConfig): ProcessDescription {
  const directory = resolve(dataDir ?? file.dataDirectory ?? defaultDataDirectory);
  const format = logFormat ?? file.logFormat;
  return {
    name: 'node-agent',
    command: {
      type: 'own',
      args: [
        'node-agent',
        ...['--kubeconfig', join(directory, 'admin.kubeconfig'), '--state-dir', join(directory, 'node-agent')],
        // For people who try Capstan on a laptop, without root.
        '--allow-unisolated',
        ...(gpus === undefined ? [] : ['--gpus', resolve(gpus)]),
        ...(format === undefined ? [] : ['--log-format', format]),
      ],
    },
    needs: ['apiserver'],
    optional: true,
  };
}

const usesEtcd = ({ etcdEndpoints }: ApiServerFlags, { apiserver }: WholeConfig): boolean =>
  etcdEndpoints !== undefined || apiserver?.etcd !== undefined;

/** Only the flags that were given: the processes read the file themselves, and flags override it. */
function apiServerArguments({ host, port, advertise, etcdEndpoints, runtimeConfig, ...common }: ApiServerFlags): string[] {
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

function managerArguments(flags: ApiServerFlags, file: WholeConfig, section: ManagerSection = {}): string[] {
  // Only one `capstan up` can use a directory with SQLite, so there is no second manager to contend with: skip the leader election.
  const isAlone = !usesEtcd(flags, file) && section.leaderElection?.enabled !== 'true';
  return [
    ...commonArguments(flags),
    ...(section.listen?.port === undefined ? ['--port', '0'] : []),
    ...(isAlone ? ['--no-leader-elect'] : []),
  ];
}

function commonArguments({ config, dataDir, logFormat }: ApiServerFlags): string[] {
  return [
    ...(config === undefined ? [] : ['--config', config]),
    ...(dataDir === undefined ? [] : ['--data-dir', dataDir]),
    ...(logFormat === undefined ? [] : ['--log-format', logFormat]),
  ];
}
