import type { AccessAnswer, BuiltInAdapter, InstanceRequest, MembersRequest, WantedMember } from '../../adapter/contract.ts';
import { observe } from './observe.ts';
import { planOf } from './plans/plan.ts';
import { probeOf } from './probe.ts';
import { controllerPort } from './services.ts';
import { placementOf, settingsOf } from './settings.ts';

/** Slurm on machines of a tenant: a controller, nodes that run jobs, and optionally a machine for users. */
export const slurmAdapter: BuiltInAdapter = {
  name: 'slurm',
  members: async ({ instance }) => ({ members: membersOf(instance) }),
  plan: async (request) => planOf(request),
  observe: async (request) => observe(request),
  access: async (request) => access(request),
  probe: probeOf,
};

function membersOf(instance: MembersRequest['instance']): WantedMember[] {
  const { controller, compute, login } = placementOf(instance);
  settingsOf(instance);
  return [
    { component: 'controller', allocation: controller },
    ...compute.map((allocation) => ({ component: 'compute', allocation })),
    ...(login === undefined ? [] : [{ component: 'login', allocation: login }]),
  ];
}

function access({ instance, members }: InstanceRequest): AccessAnswer {
  const wanted = members.filter(({ isWanted }) => isWanted);
  const controller = wanted.find(({ component }) => component === 'controller');
  const shell = wanted.find(({ component }) => component === 'login') ?? controller;
  if (controller === undefined || shell === undefined) return {};
  const { users, partition } = settingsOf(instance);
  return {
    endpoints: [{ name: 'slurmctld', address: `${controller.node.address}:${controllerPort}` }],
    shell: shell.name,
    notes: [
      `Log in to ${shell.node.hostname}, and submit jobs to the partition ${partition}: srun --gres=gpu:1 nvidia-smi`,
      users.length === 0
        ? 'No user has an account yet: name them in the parameter users.'
        : `Accounts, with the same uid on all members: ${users.map(({ name, uid }) => `${name} (${uid})`).join(', ')}`.slice(0, 1024),
    ],
  };
}
