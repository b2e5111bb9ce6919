import { type AdapterMember, AdapterProblem, type BuiltInAdapter, type PlannedStep } from '../adapter/contract.ts';
import type { AdapterRegistration, NewApp } from '../adapter/registration.ts';
import { exactScripts, script } from '../adapter/scripts.ts';

const scripts = [
  script('pair-hello', '#!/bin/sh\n# Says hello.\necho hello\n'),
  script('pair-probe', '#!/bin/sh\n# Looks.\necho ok\n'),
  script('pair-remove', '#!/bin/sh\n# Removes everything.\n'),
];

const app: NewApp = {
  metadata: { name: 'pair' },
  spec: {
    displayName: 'A pair',
    support: 'community',
    adapter: { builtIn: 'pair' },
    versions: [{ name: '1', isDefault: true }, { name: '2' }],
    placement: {
      type: 'object',
      required: ['leader_allocation_id'],
      properties: {
        leader_allocation_id: { type: 'string', format: 'allocation' },
        follower_allocation_ids: { type: 'array', items: { type: 'string', format: 'allocation' } },
      },
    },
    parameters: {
      type: 'object',
      properties: {
        greeting: { type: 'string', default: 'hello' },
        careful: { type: 'boolean', description: 'A leader that does not say hello needs a person.' },
      },
    },
    components: [
      { name: 'leader', title: 'Leader', minimum: 1, maximum: 1 },
      { name: 'follower', title: 'Follower' },
    ],
    operations: [
      { name: 'wave', title: 'Wave', scope: 'member' },
      { name: 'restart', title: 'Restart', scope: 'instance' },
      { name: 'introduce', title: 'Give the leader a token', scope: 'instance' },
    ],
    permitted: { scripts: exactScripts(scripts), paths: ['/etc/pair/'], services: ['pair'], commands: ['/bin/sleep'] },
    access: ['endpoint'],
  },
};

interface PairPlacement {
  readonly leader_allocation_id: string;
  readonly follower_allocation_ids?: readonly string[];
}

/** An app for tests: a leader that followers join, with a secret that all of them get and a fact that the leader finds out. */
const adapter: BuiltInAdapter = {
  name: 'pair',
  async members({ instance }) {
    const { leader_allocation_id: leader, follower_allocation_ids: followers = [] } = instance.placement as unknown as PairPlacement;
    if (followers.includes(leader)) throw new AdapterProblem('LeaderFollows', `the allocation ${leader} is the leader and a follower`);
    return {
      members: [{ component: 'leader', allocation: leader }, ...followers.map((allocation) => ({ component: 'follower', allocation }))],
    };
  },
  async plan({ operation, members, instance }) {
    const wanted = members.filter(({ isWanted }) => isWanted);
    const leader = wanted.filter(({ component }) => component === 'leader');
    const followers = wanted.filter(({ component }) => component === 'follower');
    const names = (list: readonly AdapterMember[]): string[] => list.map(({ name }) => name);
    switch (operation.type) {
      case 'decommission':
        return { steps: members.map((member) => removing(member, 0)), leaves: names(members), phase: 'removed' };
      case 'stop':
        return { steps: wanted.map((member) => service(member, 'stopped', 0)), phase: 'stopped' };
      case 'wave':
        return {
          steps: members.filter(({ name }) => name === operation.member).map((member) => hello(member, 0)),
          phase: 'ready',
        };
      case 'introduce':
        return { steps: leader.map(introduction), phase: 'ready' };
      default: {
        const unwanted = members.filter(({ isWanted }) => !isWanted);
        const careful = instance.parameters['careful'] === true;
        const steps = [
          ...unwanted.map((member) => removing(member, 0)),
          ...leader.map((member) => settings(member, 1, instance.parameters['greeting'] as string)),
          ...leader.map((member) => ({ ...hello(member, 2), keepsFact: 'hello', phase: 'leading', ...(careful && intervening) })),
          ...followers.map((member) => settings(member, 3, '${fact:hello}')),
          ...wanted.map((member) => service(member, 'running', 4)),
        ];
        const only = operation.type === 'repair' ? steps.filter(({ member }) => member === operation.member) : steps;
        return {
          steps: only,
          secrets: [{ name: 'key', bytes: 16, encoding: 'hex' }],
          joins: names(wanted),
          leaves: names(unwanted),
          phase: 'ready',
        };
      }
    }
  },
  async observe({ members, probes }) {
    const entries = members.map(({ name }) => {
      const probe = probes[name];
      if (probe === undefined) return [name, { health: 'unknown' as const, message: 'it is silent' }] as const;
      return [
        name,
        probe.output.trim() === 'ok'
          ? { health: 'healthy' as const }
          : { health: 'failed' as const, message: `the probe says ${probe.output.trim()}`, isRepairable: true },
      ] as const;
    });
    const isHealthy = entries.every(([, { health }]) => health === 'healthy');
    return { health: isHealthy ? 'healthy' : 'degraded', members: Object.fromEntries(entries) };
  },
  async access({ members }) {
    const leader = members.find(({ component }) => component === 'leader');
    return leader === undefined ? {} : { endpoints: [{ name: 'greeting', address: `http://${leader.node.address}:80` }] };
  },
  probe: () => ({ script: 'pair-probe', every: '30s' }),
};

const intervening = { onFailure: 'intervene', instructions: 'let the leader speak' } as const;

function settings(member: AdapterMember, stage: number, greeting: string): PlannedStep {
  return {
    id: `settings-${member.name}`,
    title: `Write the settings of ${member.name}`,
    member: member.name,
    stage,
    type: 'file.write',
    task: { path: '/etc/pair/settings', content: `greeting=${greeting}\nkey=\${secret:key}\n`, mode: '0600' },
    ...(member.component === 'follower' && { onFailure: 'degrade' as const, phase: 'following' }),
  };
}

function introduction(member: AdapterMember): PlannedStep {
  return {
    id: `introduce-${member.name}`,
    title: 'Write the token for reports',
    member: member.name,
    stage: 0,
    type: 'file.write',
    task: { path: '/etc/pair/token', content: '${secret:report-token}', mode: '0600' },
  };
}

function hello(member: AdapterMember, stage: number): PlannedStep {
  return {
    id: `hello-${member.name}`,
    title: 'Say hello',
    member: member.name,
    stage,
    type: 'process.run',
    task: { script: 'pair-hello' },
  };
}

function service(member: AdapterMember, state: 'running' | 'stopped', stage: number): PlannedStep {
  return {
    id: `service-${member.name}`,
    title: `Keep the service ${state}`,
    member: member.name,
    stage,
    type: 'service.ensure',
    task: { name: 'pair', state, ...(state === 'running' && { command: ['/bin/sleep', '1000000'] }) },
  };
}

function removing(member: AdapterMember, stage: number): PlannedStep {
  return {
    id: `remove-${member.name}`,
    title: `Remove everything from ${member.name}`,
    member: member.name,
    stage,
    type: 'process.run',
    task: { script: 'pair-remove' },
    reportsResidue: true,
    onFailure: 'continue',
  };
}

export const pair: AdapterRegistration = { adapter, apps: () => [app], scripts: () => scripts };
