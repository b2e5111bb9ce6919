import { createHash } from 'node:crypto';
import { type Draft, stepId } from '../../adapter/stages.ts';
import type { Cluster, SlurmNode } from './cluster.ts';

export const controllerPort = 6817;
export const databaseSocket = '/run/slurm-database/socket';

/** Services that the agent keeps running. Those of the distribution are masked. */
export type ServiceName = 'slurm-munge' | 'slurm-database' | 'slurm-accounting' | 'slurm-controller' | 'slurm-node';
export const serviceNames: readonly ServiceName[] = ['slurm-munge', 'slurm-database', 'slurm-accounting', 'slurm-controller', 'slurm-node'];

interface Program {
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const shell = (script: string): readonly string[] => ['/bin/sh', '-c', script];
const as = (user: string): string => `exec setpriv --reuid=${user} --regid=${user} --init-groups`;
/** Folders below /run vanish when the machine restarts, and the agent starts the services without us then. */
const folder = (path: string, user: string): string => `install -d -m 0755 -o ${user} -g ${user} ${path} &&`;

const database = [
  '/usr/sbin/mariadbd --no-defaults --datadir=/var/lib/slurm/database',
  `--socket=${databaseSocket} --pid-file=/run/slurm-database/pid --skip-networking`,
  // Slurm asks for these.
  '--innodb-lock-wait-timeout=900 --max-allowed-packet=16M --innodb-buffer-pool-size=256M --loose-innodb-snapshot-isolation=OFF',
].join(' ');

/** The program of a service on a member. It is started again if its configuration changes. */
function programOf(service: ServiceName, cluster: Cluster, { member }: SlurmNode, configuration: string): Program {
  switch (service) {
    case 'slurm-munge':
      // Without an origin, munged waits for the name service, which may not know this machine.
      return {
        command: shell(
          `${folder('/run/munge', 'munge')} ${as('munge')} /usr/sbin/munged --foreground --num-threads=10 --origin=${member.node.address}`,
        ),
      };
    case 'slurm-database':
      return { command: shell(`${folder('/run/slurm-database', 'slurm')} ${as('slurm')} ${database}`) };
    case 'slurm-accounting':
      return {
        command: shell(`${folder('/run/slurm-database', 'slurm')} ${as('slurm')} /usr/sbin/slurmdbd -D`),
        environment: { MYSQL_UNIX_PORT: databaseSocket, CAPSTAN_CONFIGURATION: hashOf(configuration) },
      };
    case 'slurm-controller':
      return { command: ['/usr/sbin/slurmctld', '-D'], environment: { CAPSTAN_CONFIGURATION: hashOf(configuration) } };
    case 'slurm-node':
      // A node gets its configuration from the controller, at its start and whenever the controller is told to.
      return { command: ['/usr/sbin/slurmd', '-D', '--conf-server', `${cluster.controller.member.node.address}:${controllerPort}`] };
  }
}

export interface ServiceStep {
  readonly service: ServiceName;
  readonly title: string;
  /** The text that makes the service start again when it changes. */
  readonly configuration?: string;
}

export function runService(cluster: Cluster, node: SlurmNode, { service, title, configuration = '' }: ServiceStep): Draft {
  const { command, environment } = programOf(service, cluster, node, configuration);
  return {
    id: stepId(`run-${service.slice('slurm-'.length)}`, node.member),
    title,
    member: node.member.name,
    type: 'service.ensure',
    task: { name: service, state: 'running', command: [...command], ...(environment && { environment: { ...environment } }) },
    code: 'ServiceFailed',
  };
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
