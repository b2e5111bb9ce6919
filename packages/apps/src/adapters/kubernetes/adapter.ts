import type { BuiltInAdapter } from '../../adapter/contract.ts';
import { accessOf } from './access.ts';
import { distributionOf } from './distribution.ts';
import { observationOf } from './observe.ts';
import { membersOf } from './placement.ts';
import { planOf } from './plan.ts';

/** Kubernetes clusters of RKE2 or k3s. The App says which: it has the name of the program. */
export const kubernetes: BuiltInAdapter = {
  name: 'kubernetes',
  members: async ({ instance }) => membersOf(instance),
  plan: async (request) => planOf(request),
  observe: async (request) => observationOf(request),
  access: async (request) => accessOf(request),
  probe: (member, { instance }) => {
    const { program, services } = distributionOf(instance.app);
    const role = member.component === 'server' ? 'server' : 'agent';
    return { script: 'kubernetes-probe', arguments: [program, role, member.node.name, services[role]], every: '30s' };
  },
};
