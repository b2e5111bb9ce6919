import { type AdapterMember, AdapterProblem } from '../../adapter/contract.ts';
import { type Draft, type Stages, stepId } from '../../adapter/stages.ts';
import { joinedServer } from './config-request.ts';
import { artifactDirectory, devicePluginManifest } from './distribution.ts';
import { endpointName } from './kubeadm-config.ts';
import { configOf, fixedSettings, settingsFact } from './settings.ts';
import { type Context, type Extras, initFact, roleOf, run, service } from './steps.ts';

/** An agent that does not join leaves a cluster that can be used. */
const agentExtras: Extras = { onFailure: 'degrade' };

const bootstrapInstructions =
  'The server did not become ready. Read the output of this step, which ends with the log of the service. Remove the cause, then create an operation `resume` to wait for it again, or `repair` for this member to install it anew; ' +
  'the deployment goes on by itself after either. Steps that were done are not harmed by doing them again. Deleting the instance is safe too.';

/** Looks whether the members can be used, before anything is changed. */
export function preflight(context: Context, members: readonly AdapterMember[]): Draft[] {
  const { distribution, request } = context;
  return members.map((member) =>
    run(context, member, {
      script: 'preflight',
      title: `Check ${member.node.name}`,
      phase: 'placement_validated',
      arguments: [roleOf(member), request.instance.id, ...distribution.ports[roleOf(member)].map(String)],
      keepsFact: initFact(member),
      deadline: '2m',
      ...(member.component === 'agent' && agentExtras),
    }),
  );
}

/** Keeps the settings that can never change, once. */
export function settingsOnce(context: Context, server: AdapterMember): Draft[] {
  const { instance, facts } = context.request;
  if (facts[settingsFact] !== undefined) return [];
  return [
    run(context, server, { script: 'keep', title: 'Record the settings', arguments: [fixedSettings(instance)], keepsFact: settingsFact }),
  ];
}

export function install(context: Context, member: AdapterMember): Draft[][] {
  const role = roleOf(member);
  const { version } = context.request.instance;
  const phase = role === 'server' ? 'server_bootstrap_requested' : 'agent_join_requested';
  const extras: Extras = { phase, ...(role === 'agent' && agentExtras) };
  const title = `Install ${context.distribution.program} ${version} on ${member.node.name}`;
  return [
    fetchArtifacts(context, member, extras),
    [run(context, member, { script: 'install', title, arguments: [role, version], deadline: '15m', ...extras })],
  ];
}

/** Brings the files of the version to where the installer expects them. */
function fetchArtifacts({ distribution, request }: Context, member: AdapterMember, extras: Extras): Draft[] {
  const { artifacts, version } = request.instance;
  return distribution.artifacts.flatMap(
    ({ name, isRequired, mode, path = `${artifactDirectory(distribution)}/${name}` }, index): Draft[] => {
      const sha256 = artifacts[name];
      if (sha256 === undefined && isRequired)
        throw new AdapterProblem(
          'ArtifactMissing',
          `the version ${version} of the catalog has no artifact ${name}; the owner of the platform adds it with \`capstan artifact add\` and names its hash in the App`,
          { userFixable: false },
        );
      if (sha256 === undefined) return [];
      return [
        {
          id: stepId(`fetch-${index + 1}`, member),
          title: `Fetch ${name} to ${member.node.name}`,
          member: member.name,
          type: 'artifact.fetch',
          task: { sha256, path, mode, unpack: 'none' },
          deadline: '30m',
          ...extras,
        },
      ];
    },
  );
}

/** Writes the configuration of a member. The first server joins nobody. */
export function configure(context: Context, member: AdapterMember, extras: Extras = {}): Draft {
  const { distribution, request, servers, founder } = context;
  return {
    id: stepId('configure', member),
    title: `Write the configuration of ${member.node.name}`,
    member: member.name,
    type: 'file.write',
    task: {
      path: distribution.configFile,
      content: configOf({ distribution, instance: request.instance, member, servers, founder }),
      mode: '0600',
    },
    ...extras,
  };
}

/** Lets the name of the cluster lead to all servers, on this member: to itself first. */
export function endpoint(context: Context, member: AdapterMember, extras: Extras = {}): Draft[] {
  const { distribution, request, servers } = context;
  if (!distribution.needsForming) return [];
  const all = [...servers.filter(({ name }) => name === member.name), ...servers.filter(({ name }) => name !== member.name)];
  const addresses = all.map(({ node }) => node.address);
  const title = `Tell ${member.node.name} where the servers are`;
  return [
    run(context, member, {
      script: 'endpoint',
      title,
      arguments: [request.instance.id, endpointName(request.instance), ...addresses],
      ...extras,
    }),
  ];
}

/** Makes a member a part of the cluster, where its service does not do that itself. */
export function form(context: Context, member: AdapterMember, extras: Extras = {}): Draft[] {
  const { distribution, request } = context;
  if (!distribution.needsForming) return [];
  const role = roleOf(member);
  const isFirst = joinedServer({ ...context, member }) === undefined;
  const title = isFirst ? `Make a cluster on ${member.node.name}` : `Let ${member.node.name} join the cluster`;
  const step = { script: 'form', title, arguments: [role, request.instance.id], deadline: '20m', attempts: 2 } as const;
  return [run(context, member, { ...step, ...extras })];
}

/** Waits until the service of a member works. */
export function wait(context: Context, member: AdapterMember, extras: Extras = {}): Draft {
  const role = roleOf(member);
  const service = context.distribution.services[role];
  return run(context, member, {
    script: 'wait',
    title: `Wait until ${member.node.name} is ready`,
    arguments: [role, member.node.name, service, '540'],
    deadline: '10m',
    attempts: 2,
    ...extras,
  });
}

/** Starts the first server, and takes the tokens by which the others join: they contain the hash of the cluster's authority. */
export function bootstrap(stages: Stages, context: Context, server: AdapterMember): void {
  const extras: Extras = { phase: 'server_bootstrapping' };
  const intervening: Extras = { ...extras, onFailure: 'intervene', instructions: bootstrapInstructions };
  stages
    .stage(configure(context, server, extras), ...endpoint(context, server, extras))
    .stage(...service(context, server, 'running', extras))
    .stage(...form(context, server, intervening))
    .stage(wait(context, server, { ...intervening, code: 'ServerBootstrapTimeout' }));
  takeTokens(stages, context, server);
}

export function takeTokens(stages: Stages, context: Context, server: AdapterMember): void {
  const take = (kind: 'agent' | 'server'): Draft =>
    run(context, server, {
      script: 'join-token',
      verb: `take-${kind}-token`,
      title: `Take the token by which ${kind}s join`,
      arguments: [kind],
      keepsSecret: `${kind}-join-token`,
      phase: 'server_ready_for_agent_join',
    });
  if (!context.distribution.needsForming) {
    stages.stage(take('agent'), take('server'));
    return;
  }
  const authority = run(context, server, {
    script: 'join-token',
    verb: 'take-authority',
    title: 'Take the hash of the authority of the cluster',
    arguments: ['authority'],
    keepsFact: 'authority',
    phase: 'server_ready_for_agent_join',
  });
  stages.stage(take('agent'), authority);
}

/** Lets a server share the keys of the cluster with one that joins. They are encrypted, and gone two hours later. */
export function shareCertificates(context: Context, joining: AdapterMember): Draft[] {
  const server = joinedServer({ ...context, member: joining });
  if (!context.distribution.needsForming || server === undefined) return [];
  return [
    run(context, server, {
      script: 'join-token',
      verb: `share-certificates-${joining.node.name}`,
      title: `Share the certificates of the cluster with ${joining.node.name}`,
      arguments: ['certificates'],
      phase: 'server_bootstrapping',
    }),
  ];
}

/** Joins further servers, one at a time: etcd accepts one new member only when all others are there. */
export function joinServers(stages: Stages, context: Context, servers: readonly AdapterMember[]): void {
  for (const server of servers) {
    const extras: Extras = { phase: 'server_bootstrapping' };
    const intervening: Extras = { ...extras, onFailure: 'intervene', instructions: bootstrapInstructions };
    stages
      .chains([install(context, server)])
      .stage(configure(context, server, extras), ...endpoint(context, server, extras))
      .stage(...service(context, server, 'running', extras))
      .stage(...shareCertificates(context, server))
      .stage(...form(context, server, intervening))
      .stage(wait(context, server, { ...intervening, code: 'ServerJoinTimeout' }));
  }
}

/** In one go; more at once overload a server. */
const batch = 50;

export function joinAgents(stages: Stages, context: Context, agents: readonly AdapterMember[]): void {
  const requested: Extras = { phase: 'agent_join_requested', ...agentExtras };
  const joining: Extras = { phase: 'agent_joining', ...agentExtras };
  for (let start = 0; start < agents.length; start += batch)
    stages.chains(
      agents
        .slice(start, start + batch)
        .map((agent) => [
          ...install(context, agent),
          [configure(context, agent, requested), ...endpoint(context, agent, requested)],
          service(context, agent, 'running', joining),
          form(context, agent, joining),
          [wait(context, agent, { ...joining, code: 'AgentJoinTimeout' })],
        ]),
    );
}

/** Deploys the device plugin, if the version has one. The cluster works without it. */
export function deployAddons(context: Context, server: AdapterMember): Draft[] {
  if (context.request.instance.artifacts[devicePluginManifest] === undefined) return [];
  const extras: Extras = { phase: 'device_plugin_requested', attempts: 5, onFailure: 'continue' };
  return [run(context, server, { script: 'addons', title: 'Deploy the device plugin', ...extras })];
}

/** Grants the groups of the platform their roles in the cluster, and tells the node agent of the server where the credentials are. */
export function deliverAccess(context: Context, servers: readonly AdapterMember[]): Draft[] {
  return servers.map((server) =>
    run(context, server, {
      script: 'access',
      title: 'Make the kubeconfig available',
      arguments: [context.request.instance.id],
      phase: 'kubeconfig_delivery_requested',
      attempts: 5,
      code: 'KubeconfigDeliveryFailed',
      // The cluster works without it, and `reconcile` delivers it later.
      onFailure: 'continue',
    }),
  );
}
