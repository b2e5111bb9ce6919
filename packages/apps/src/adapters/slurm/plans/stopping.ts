import type { Plan, PlanRequest } from '../../../adapter/contract.ts';
import { type Draft, Stages, stepId } from '../../../adapter/stages.ts';
import { type Cluster, membersOf, nodeOf, type SlurmNode } from '../cluster.ts';
import { type ServiceName, serviceScript } from '../services.ts';
import { run } from '../steps.ts';

const phase = 'removing';

/** Stops all services and keeps the state. Jobs that run are ended: nobody would look after them. */
export function stop(cluster: Cluster): Plan {
  const { controller, compute, settings } = cluster;
  const stages = new Stages()
    .inPhase(
      'stopping',
      compute.map((node) => stopService(node, 'slurm-node')),
    )
    .inPhase('stopping', [stopService(controller, 'slurm-controller')]);
  if (settings.hasAccounting)
    stages
      .inPhase('stopping', [stopService(controller, 'slurm-accounting')])
      .inPhase('stopping', [stopService(controller, 'slurm-database')]);
  stages.inPhase(
    'stopping',
    membersOf(cluster).map((node) => stopService(node, 'slurm-munge')),
  );
  return { steps: stages.steps, phase: 'stopped' };
}

export function decommission({ members, instance }: PlanRequest): Plan {
  const nodes = members.map(nodeOf);
  const stages = new Stages().inPhase(phase, nodes.flatMap(stopAll)).inPhase(
    phase,
    nodes.map((node) => clean(instance.id, node)),
  );
  return { steps: stages.steps, leaves: members.map(({ name }) => name), phase: 'removed' };
}

const servicesOf: Readonly<Record<string, readonly ServiceName[]>> = {
  controller: ['slurm-controller', 'slurm-accounting', 'slurm-database', 'slurm-munge'],
  compute: ['slurm-node', 'slurm-munge'],
  login: ['slurm-munge'],
};

/** Cleaning ends processes as well, so a service that does not stop is no reason to give up. */
export function stopAll(node: SlurmNode): Draft[] {
  return (servicesOf[node.member.component] ?? []).map((service) => ({ ...stopService(node, service), onFailure: 'continue' }));
}

/** A service with a script is one of the agent. */
export function stopService(node: SlurmNode, service: ServiceName): Draft {
  return {
    id: stepId(`stop-${service.slice('slurm-'.length)}`, node.member),
    title: `Stop ${service} on ${node.name}`,
    member: node.member.name,
    type: 'service.ensure',
    task: { name: service, state: 'stopped', script: serviceScript },
    code: 'ServiceFailed',
  };
}

export function clean(instance: string, node: SlurmNode): Draft {
  return run(node, {
    script: 'clean',
    title: `Remove Slurm from ${node.name}`,
    arguments: [instance],
    deadline: '15m',
    code: 'NotRemoved',
    reportsResidue: true,
  });
}
