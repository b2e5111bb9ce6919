import { type Draft, type Stages, stepId } from '../../../adapter/stages.ts';
import { type Cluster, membersOf, type SlurmNode, standInsOf } from '../cluster.ts';
import { hostsOf, usersOf } from '../common-knowledge.ts';
import { cgroupConf, gresConf, slurmConf, slurmdbdConf } from '../configuration.ts';
import { packagesOf } from '../packages.ts';
import { controllerPort, portsOf, runService } from '../services.ts';
import { packed, run, waitFor, write } from '../steps.ts';

/*
 * Parts of plans, in their order. Each leads members from whatever they are to a working state: every step finds out by itself whether there is something to do.
 */

export const mungeKey = 'munge-key';
const credential = 'munge-credential';

/** Installs everything on these members. */
export function prepare(stages: Stages, cluster: Cluster, members: readonly SlurmNode[]): void {
  stages.inPhase(
    'preparing',
    members.map((node) => degrading(node, look(cluster, node))),
  );
  stages.inPhase(
    'installing',
    members.map((node) => degrading(node, install(cluster, node))),
  );
  stages.inPhase(
    'configuring',
    members.map((node) => degrading(node, configure(cluster, node))),
  );
  stages.inPhase(
    'configuring',
    members.flatMap((node) => [
      degrading(node, accounts(cluster, node)),
      degrading(node, write(node, { path: '/etc/munge/munge.key', content: `\${secret:${mungeKey}}`, mode: '0400', owner: 'munge:munge' })),
    ]),
  );
}

/** No message of Slurm names a wrong key, so it is looked for: the controller encodes, the others decode. */
export function authenticate(stages: Stages, cluster: Cluster, members: readonly SlurmNode[]): void {
  stages.inPhase(
    'authenticating',
    members.map((node) =>
      degrading(node, runService(cluster, node, { service: 'slurm-munge', title: `Run the authentication on ${node.name}` })),
    ),
  );
  const others = members.filter((node) => node !== cluster.controller);
  if (others.length === 0) return;
  stages.inPhase('authenticating', [
    run(cluster.controller, { script: 'credential', title: 'Make a credential on the controller', keepsFact: credential }),
  ]);
  stages.inPhase(
    'authenticating',
    others.map((node) => degrading(node, checkCredential(node))),
  );
}

/** Members that are a part of the cluster already learn about new members and users. Those that are silent have drifted when they come back, and are reconciled. */
export function tellOthers(stages: Stages, cluster: Cluster, members: readonly SlurmNode[]): void {
  const others = membersOf(cluster).filter((node) => !members.includes(node) && node.member.node.isReady);
  stages.inPhase(
    'configuring',
    others.flatMap((node) => [degrading(node, configure(cluster, node)), degrading(node, accounts(cluster, node))]),
  );
}

/** A login member runs no daemon that could get the configuration from the controller. */
export function configureLogin(stages: Stages, cluster: Cluster): void {
  const { login } = cluster;
  if (login?.member.node.isReady !== true) return;
  stages.inPhase('configuring', [degrading(login, write(login, { path: '/etc/slurm/slurm.conf', content: slurmConf(cluster) }))]);
}

export function configureController(stages: Stages, cluster: Cluster): void {
  const { controller, settings } = cluster;
  stages.inPhase('configuring', [
    write(controller, { path: '/etc/slurm/slurm.conf', content: slurmConf(cluster) }),
    write(controller, { path: '/etc/slurm/gres.conf', content: gresConf(cluster) }),
    write(controller, { path: '/etc/slurm/cgroup.conf', content: cgroupConf(cluster) }),
    ...(settings.hasAccounting
      ? [write(controller, { path: '/etc/slurm/slurmdbd.conf', content: slurmdbdConf(cluster), mode: '0600', owner: 'slurm:slurm' })]
      : []),
  ]);
}

export function runAccounting(stages: Stages, cluster: Cluster): void {
  const { controller, settings } = cluster;
  if (!settings.hasAccounting) return;
  const phase = 'accounting_starting';
  const users = settings.users.map(({ name }) => name);
  stages
    .inPhase(phase, [run(controller, { script: 'database', title: 'Create the database of the accounting', deadline: '5m' })])
    .inPhase(phase, [runService(cluster, controller, { service: 'slurm-database', title: 'Run the database of the accounting' })])
    .inPhase(phase, [
      runService(cluster, controller, { service: 'slurm-accounting', title: 'Run the accounting', configuration: slurmdbdConf(cluster) }),
    ])
    .inPhase(phase, [
      run(controller, { script: 'accounting', title: 'Register the cluster and its users', arguments: [cluster.name, ...users] }),
    ]);
}

/** Slurm adds and removes nodes only when its controller starts, so that one starts again if the configuration has changed. Jobs go on meanwhile. */
export function runController(cluster: Cluster): Draft {
  return runService(cluster, cluster.controller, {
    service: 'slurm-controller',
    title: 'Run the controller',
    configuration: slurmConf(cluster) + gresConf(cluster) + cgroupConf(cluster),
  });
}

export function reconfigure({ controller }: Cluster): Draft {
  return run(controller, {
    script: 'reconfigure',
    title: 'Wait for the controller, and let all nodes read its configuration',
    arguments: [String(controllerPort)],
    deadline: '5m',
  });
}

export function runNodes(cluster: Cluster, nodes: readonly SlurmNode[]): Draft[] {
  return nodes.map((node) =>
    degrading(node, runService(cluster, node, { service: 'slurm-node', title: `Run the daemon of the node ${node.name}` })),
  );
}

export function registered(nodes: readonly SlurmNode[]): Draft[] {
  return nodes.map((node) =>
    waitFor(node, {
      script: 'node',
      verb: 'registered',
      title: `Wait until Slurm can use ${node.name}`,
      arguments: ['registered', node.name],
      deadline: '2m',
      code: 'NodeDidNotRegister',
      onFailure: 'degrade',
    }),
  );
}

function look(cluster: Cluster, node: SlurmNode): Draft {
  const confinement = cluster.settings.isConfined && node.member.component === 'compute' ? 'cgroup' : 'none';
  return run(node, {
    script: 'prepare',
    title: `Look at the machine ${node.name}`,
    arguments: [cluster.id, node.name, confinement, ...portsOf(cluster, node).map(String)],
    deadline: '5m',
  });
}

function install(cluster: Cluster, node: SlurmNode): Draft {
  return {
    id: stepId('install', node.member),
    title: `Install the packages of Slurm on ${node.name}`,
    member: node.member.name,
    type: 'package.ensure',
    task: { names: [...packagesOf(cluster, node)], state: 'present' },
    deadline: '15m',
    code: 'PackagesNotInstalled',
    instructions: `Check that ${node.name} reaches its package archive, and that the archive has ${packagesOf(cluster, node).join(', ')}. Then begin the operation "retry".`,
  };
}

function configure(cluster: Cluster, node: SlurmNode): Draft {
  return run(node, {
    script: 'configure',
    title: `Make the folders of Slurm on ${node.name}`,
    arguments: [String(standInsOf(node)), ...packed(hostsOf(cluster).map((line) => line.replace(' ', '=')))],
  });
}

function accounts(cluster: Cluster, node: SlurmNode): Draft {
  return run(node, {
    script: 'accounts',
    title: `Give the users their accounts on ${node.name}`,
    arguments: usersOf(cluster),
  });
}

function checkCredential(node: SlurmNode): Draft {
  return run(node, {
    script: 'check-credential',
    title: `Check that ${node.name} has the key of the controller`,
    arguments: [`\${fact:${credential}}`],
  });
}

/** The cluster is of use without one of its nodes, but not without its controller. */
function degrading(node: SlurmNode, draft: Draft): Draft {
  return node.member.component === 'controller' ? draft : { ...draft, onFailure: 'degrade' };
}
