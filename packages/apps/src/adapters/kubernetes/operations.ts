import { type AdapterMember, AdapterProblem } from '../../adapter/contract.ts';
import { type Draft, Stages } from '../../adapter/stages.ts';
import {
  bootstrap,
  configure,
  deliverAccess,
  deployAddons,
  endpoint,
  form,
  install,
  joinAgents,
  joinServers,
  preflight,
  settingsOnce,
  shareCertificates,
  takeTokens,
  wait,
} from './joining.ts';
import { drain, erase, forget, remove } from './leaving.ts';
import { snapshotHolder } from './snapshots.ts';
import { type Context, roleOf, run, service, theServer } from './steps.ts';

/** Each returns its steps, in order. */
export type Operation = (context: Context) => Stages;

/** Deploys the instance, or what is not yet a part of it. Members that the placement no longer asks for go last, so that pods have somewhere to go. */
export const change: Operation = (context) => {
  const stages = new Stages();
  const { servers, agents, unwanted } = context;
  const first = theServer(context);
  const joiningServers = servers.filter(({ hasJoined, name }) => !hasJoined && name !== first.name);
  const joiningAgents = agents.filter(({ hasJoined }) => !hasJoined);
  stages.stage(...preflight(context, [...(first.hasJoined ? [] : [first]), ...joiningServers, ...joiningAgents]));
  if (first.hasJoined) takeTokens(stages, context, first);
  else {
    stages.stage(...settingsOnce(context, first)).chains([install(context, first)]);
    bootstrap(stages, context, first);
  }
  joinServers(stages, context, joiningServers);
  joinAgents(stages, context, joiningAgents);
  // Those that are there already learn of servers that have come or go.
  const isOtherServer = joiningServers.length > 0 || unwanted.some(({ component }) => component === 'server');
  const present = [...servers, ...agents].filter(({ hasJoined }) => hasJoined);
  if (isOtherServer) stages.stage(...present.flatMap((member) => endpoint(context, member)));
  for (const member of unwanted) remove(stages, context, member);
  // A server that is silent got it when it joined.
  const heard = servers.filter(({ hasJoined, node }) => !hasJoined || node.isReady);
  return stages.stage(...deployAddons(context, first)).stage(...deliverAccess(context, heard));
};

/** Brings files and services of all members to what they should be, and restarts nothing that runs. */
export const reconcile: Operation = (context) => {
  const stages = new Stages();
  const { servers, agents } = context;
  const members = [...servers, ...agents].filter(({ hasJoined }) => hasJoined);
  return stages
    .chains(
      members.map((member) => [
        ...install(context, member),
        [configure(context, member), ...endpoint(context, member)],
        service(context, member, 'running'),
        form(context, member),
      ]),
    )
    .stage(...members.map((member) => wait(context, member, member.component === 'agent' ? { onFailure: 'degrade' } : {})))
    .stage(...labels(context, members))
    .stage(...deployAddons(context, theServer(context)))
    .stage(...deliverAccess(context, servers));
};

/** Members in one step: their names are arguments of a script. */
const labelled = 16;

/** Nodes get their labels when they join, and people can remove them. */
function labels(context: Context, members: readonly AdapterMember[]): Draft[] {
  const steps: Draft[] = [];
  for (let start = 0; start < members.length; start += labelled) {
    const some = members.slice(start, start + labelled);
    const verb = `label-${start / labelled + 1}`;
    const pairs = some.flatMap(({ node, name }) => [node.name, name]);
    steps.push(
      run(context, theServer(context), { script: 'label', verb, title: 'Label the nodes', arguments: pairs, onFailure: 'continue' }),
    );
  }
  return steps;
}

/** Installs, configures and starts one member again. The cluster may still know an agent by a password that it no longer has. */
export const repair: Operation = (context) => {
  const stages = new Stages();
  const member = theMember(context);
  const isAgent = member.component === 'agent';
  stages.stage(...service(context, member, 'stopped'));
  if (isAgent) {
    const server = theServer(context);
    takeTokens(stages, context, server);
    stages.stage(forget(context, server, { member, part: 'node' }));
  }
  stages
    .stage(...preflight(context, [member]))
    .stage(...(isAgent ? [] : settingsOnce(context, member)))
    .chains([install(context, member)])
    .stage(configure(context, member), ...endpoint(context, member))
    .stage(...service(context, member, 'running'))
    .stage(...(isAgent ? [] : shareCertificates(context, member)))
    .stage(...form(context, member))
    .stage(wait(context, member, { code: isAgent ? 'AgentJoinTimeout' : 'ServerBootstrapTimeout' }));
  return isAgent ? stages : stages.stage(...deliverAccess(context, [member]));
};

/** Agents stop first, so that servers see no failures of them. */
export const stop: Operation = (context) => {
  const stages = new Stages();
  for (const members of [context.agents, context.servers])
    stages
      .stage(...members.flatMap((member) => service(context, member, 'stopped')))
      .stage(
        ...members.map((member) => run(context, member, { script: 'halt', title: `End the pods on ${member.node.name}`, deadline: '5m' })),
      );
  return stages;
};

/** Servers start together: alone, none of several has a quorum. */
export const start: Operation = (context) => {
  const stages = new Stages();
  const { servers, agents } = context;
  return stages
    .stage(...servers.flatMap((member) => service(context, member, 'running')))
    .stage(...servers.map((member) => wait(context, member, { code: 'ServerStartTimeout' })))
    .stage(...agents.flatMap((member) => service(context, member, 'running', { onFailure: 'degrade' })))
    .stage(...agents.map((member) => wait(context, member, { code: 'AgentStartTimeout', onFailure: 'degrade' })));
};

/** The cluster ends as a whole, so nothing is drained and all members end at once. It works in every state that a deployment can be left in. */
export const decommission: Operation = (context) => {
  const { members } = context.request;
  return new Stages()
    .stage(...members.flatMap((member) => service(context, member, 'stopped', { onFailure: 'continue' })))
    .chains(members.map((member) => erase(context, member, { isWhole: true })));
};

export const drainMember: Operation = (context) => new Stages().stage(drain(context, theServer(context), theMember(context)));

export const uncordonMember: Operation = (context) => {
  const member = theMember(context);
  return new Stages().stage(
    run(context, theServer(context), {
      script: 'uncordon',
      title: `Let ${member.node.name} take pods again`,
      arguments: [member.node.name],
    }),
  );
};

const snapshotName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

export const snapshot: Operation = (context) => {
  const name = context.request.operation.parameters['name'] ?? 'capstan';
  if (typeof name !== 'string' || !snapshotName.test(name))
    throw new AdapterProblem('InvalidParameters', 'expected a name of letters, digits, dots, hyphens and underscores');
  return new Stages().stage(
    run(context, theServer(context), {
      script: 'snapshot',
      title: 'Save a snapshot of etcd',
      arguments: [name],
      keepsFact: 'snapshot',
      deadline: '15m',
    }),
  );
};

/** Goes back to a snapshot. It needs no API server: only node agents. */
export const restore: Operation = (context) => {
  const name = context.request.operation.parameters['snapshot'] ?? context.request.facts['snapshot'];
  if (typeof name !== 'string' || !snapshotName.test(name))
    throw new AdapterProblem(
      'InvalidParameters',
      'expected the name of a snapshot in the parameter `snapshot`; the details of the server list them',
    );
  const first = snapshotHolder(name, context.servers) ?? theServer(context);
  const others = context.servers.filter((member) => member.name !== first.name);
  const stages = new Stages();
  stages.stage(...context.servers.flatMap((member) => service(context, member, 'stopped')));
  stages.stage(
    ...context.servers.map((member) =>
      run(context, member, { script: 'halt', title: `End what still runs on ${member.node.name}`, deadline: '5m' }),
    ),
  );
  // A server that others join must not have an address to join itself.
  stages.stage(...context.servers.map((member) => configure({ ...context, founder: first }, member)));
  stages.stage(
    run(context, first, {
      script: 'restore',
      title: `Restore ${name}`,
      arguments: ['snapshot', name, context.request.operation.id],
      deadline: '15m',
    }),
    ...others.map((member) =>
      run(context, member, {
        script: 'restore',
        title: `Discard the data of ${member.node.name}`,
        arguments: ['discard', '', context.request.operation.id],
      }),
    ),
  );
  for (const member of [first, ...others]) stages.stage(...service(context, member, 'running')).stage(wait(context, member));
  stages.stage(...context.agents.flatMap((member) => service(context, member, 'running', { onFailure: 'degrade' })));
  return stages
    .stage(...context.agents.map((member) => wait(context, member, { onFailure: 'degrade' })))
    .stage(...deliverAccess(context, context.servers));
};

/** The programs renew certificates only when they are stopped, so members do it one after the other. */
export const rotateCertificates: Operation = (context) => {
  const stages = new Stages();
  for (const member of [...context.servers, ...context.agents])
    stages
      .stage(...service(context, member, 'stopped'))
      .stage(
        run(context, member, {
          script: 'rotate',
          title: `Renew the certificates of ${member.node.name}`,
          arguments: [roleOf(member)],
          deadline: '5m',
        }),
      )
      .stage(...service(context, member, 'running'))
      .stage(wait(context, member));
  // Copies of the certificates are renewed too.
  return stages.stage(...deliverAccess(context, context.servers));
};

function theMember({ request }: Context): AdapterMember {
  const { members, operation } = request;
  const found = members.find(({ name }) => name === operation.member);
  if (found === undefined) throw new AdapterProblem('MemberRequired', `the operation ${operation.type} needs a member of the instance`);
  return found;
}
