import { createHash } from 'node:crypto';
import { type Draft, stepId } from '../../adapter/stages.ts';
import type { Cluster, SlurmNode } from './cluster.ts';

export const controllerPort = 6817;
const nodePort = 6818;
const accountingPort = 6819;

/** The ports on which the services of a member listen. */
export function portsOf({ settings }: Cluster, { member }: SlurmNode): readonly number[] {
  switch (member.component) {
    case 'controller':
      return [controllerPort, ...(settings.hasAccounting ? [accountingPort] : [])];
    case 'compute':
      return [nodePort];
    default:
      return [];
  }
}

/** Services that the agent keeps running. Those of the distribution are masked. */
export type ServiceName = 'slurm-munge' | 'slurm-database' | 'slurm-accounting' | 'slurm-controller' | 'slurm-node';
export const serviceNames: readonly ServiceName[] = ['slurm-munge', 'slurm-database', 'slurm-accounting', 'slurm-controller', 'slurm-node'];

interface Program {
  readonly arguments: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** The script that is the program of each service, so that no step chooses a command. Its first argument is the service. */
export const serviceScript = 'slurm-service';

/** How a service runs on a member. It is started again if its configuration changes. */
function programOf(service: ServiceName, cluster: Cluster, { member }: SlurmNode, configuration: string): Program {
  const environment = { CAPSTAN_CONFIGURATION: hashOf(configuration) };
  switch (service) {
    case 'slurm-munge':
      return { arguments: [service, member.node.address] };
    case 'slurm-database':
      return { arguments: [service] };
    case 'slurm-accounting':
    case 'slurm-controller':
      return { arguments: [service], environment };
    case 'slurm-node':
      return { arguments: [service, `${cluster.controller.member.node.address}:${controllerPort}`] };
  }
}

export interface ServiceStep {
  readonly service: ServiceName;
  readonly title: string;
  /** The text that makes the service start again when it changes. */
  readonly configuration?: string;
}

export function runService(cluster: Cluster, node: SlurmNode, { service, title, configuration = '' }: ServiceStep): Draft {
  const { arguments: args, environment } = programOf(service, cluster, node, configuration);
  return {
    id: stepId(`run-${service.slice('slurm-'.length)}`, node.member),
    title,
    member: node.member.name,
    type: 'service.ensure',
    task: {
      name: service,
      state: 'running',
      script: serviceScript,
      arguments: [...args],
      ...(environment && { environment: { ...environment } }),
      // Jobs go on while slurmd starts again, which finds them.
      ...(service === 'slurm-node' && { keepsProcesses: true }),
    },
    code: 'ServiceFailed',
  };
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
