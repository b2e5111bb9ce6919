import type { AdapterMember } from '../../adapter/contract.ts';
import type { Draft, Stages } from '../../adapter/stages.ts';
import { leadOf } from './config-request.ts';
import { podNetworkOf } from './settings.ts';
import { type Context, type Extras, roleOf, run, service } from './steps.ts';

const drainInstructions =
  'Some pods could not be evicted; the output names them and the disruption budgets that protect them. Scale them or remove the budget, then create an operation `resume`.';

/** Moves the pods of a member elsewhere. Runs on a server. */
export function drain(context: Context, server: AdapterMember, member: AdapterMember, extras: Extras = {}): Draft {
  return run(context, server, {
    script: 'drain',
    verb: `drain-${member.node.name}`,
    title: `Drain ${member.node.name}`,
    arguments: [member.node.name, context.request.operation.id, '300'],
    deadline: '7m',
    attempts: 2,
    onFailure: 'intervene',
    instructions: drainInstructions,
    ...extras,
  });
}

/** Removes a member from the cluster while the cluster goes on. */
export function remove(stages: Stages, context: Context, member: AdapterMember): void {
  const server = leadOf(context.servers);
  if (member.hasJoined && server !== undefined) {
    stages.stage(drain(context, server, member));
    // While it still runs: etcd must agree before a member of it goes.
    if (member.component === 'server') stages.stage(forget(context, server, { member, part: 'etcd' }));
    stages.stage(...service(context, member, 'stopped')).stage(forget(context, server, { member, part: 'node' }));
  } else {
    stages.stage(...service(context, member, 'stopped', { onFailure: 'continue' }));
    if (server?.hasJoined) stages.stage(forget(context, server, { member, part: 'node' }));
  }
  stages.chains([erase(context, member)]);
}

interface Forgotten {
  readonly member: AdapterMember;
  readonly part: 'node' | 'etcd';
}

/**
 * Deletes the Node and the password by which the cluster would recognize it, so that a machine of the same name can join later, or the etcd member of a
 * server.
 */
export function forget(context: Context, server: AdapterMember, { member, part }: Forgotten): Draft {
  // kubeadm removes the member of etcd on the server itself.
  const place = part === 'etcd' && context.distribution.needsForming ? member : server;
  return run(context, place, {
    script: 'forget',
    verb: `forget-${part}-${member.node.name}`,
    title: `Delete the ${part === 'etcd' ? 'etcd member' : 'node'} ${member.node.name} from the cluster`,
    arguments: [member.node.name, part],
    deadline: '5m',
  });
}

/** Uninstalls everything from a member, and reports what is left. */
export function erase(context: Context, member: AdapterMember, { isWhole = false }: { readonly isWhole?: boolean } = {}): Draft[][] {
  const role = roleOf(member);
  const { request, distribution } = context;
  return [
    [
      run(context, member, {
        script: 'uninstall',
        title: `Uninstall ${distribution.program} from ${member.node.name}`,
        // Servers of a cluster that ends as a whole need not leave it one after the other.
        arguments: [role, request.instance.id, isWhole ? 'whole' : 'alone', podNetworkOf(request)],
        deadline: '10m',
      }),
    ],
    [
      run(context, member, {
        script: 'residue',
        title: `Look for residues on ${member.node.name}`,
        arguments: [request.instance.id, podNetworkOf(request)],
        reportsResidue: true,
        onFailure: 'continue',
        deadline: '2m',
      }),
    ],
  ];
}
