import type { AppHealth } from '@capstan/api';
import type { AdapterMember, MemberObservation, Observation, ObserveRequest } from '../../adapter/contract.ts';
import { distributionOf } from './distribution.ts';
import { driftOf, type Seen } from './drift.ts';
import { type Findings, findingsOf } from './probe-answer.ts';
import { apiAddress } from './settings.ts';

export function observationOf({ instance, members, probes }: ObserveRequest): Observation {
  const distribution = distributionOf(instance.app);
  const seen: Seen = new Map(members.flatMap(({ name }) => (probes[name] === undefined ? [] : [[name, findingsOf(probes[name])]])));
  const nodes = nodesSeen(members, seen);
  const observed = members.map((member) => {
    const service = distribution.services[member.component === 'server' ? 'server' : 'agent'];
    return [member, observeMember(member, { service, findings: seen.get(member.name), nodes })] as const;
  });
  const drifts = observed.filter(([member]) => driftOf(member, { instance, members, seen }) !== undefined);
  const expiries = [...seen.values()].flatMap(({ certificatesExpireAt }) => certificatesExpireAt ?? []).sort();
  return {
    ...summary(observed, seen),
    members: Object.fromEntries(
      observed.map(([member, observation]) => [member.name, withDrift(observation, driftOf(member, { instance, members, seen }))]),
    ),
    ...(drifts.length > 0 && { hasDrifted: true }),
    ...(expiries[0] !== undefined && { certificatesExpireAt: expiries[0] }),
    refused: refusals(members, seen),
  };
}

interface View {
  readonly service: string;
  readonly findings: Findings | undefined;
  /** The nodes, as servers describe them. */
  readonly nodes: Pick<Findings, 'nodes' | 'cordoned'>;
}

function observeMember(member: AdapterMember, { service, findings, nodes }: View): MemberObservation {
  const { name } = member.node;
  if (member.state === 'failed') return { health: 'failed', message: 'it did not join; `repair` tries again', isRepairable: true };
  if (!member.hasJoined) return { health: 'progressing', message: 'it is joining' };
  if (member.state === 'stopped') return { health: 'healthy', message: 'it is stopped' };
  if (findings === undefined) return { health: 'unknown', message: 'its node is silent' };
  const isServer = member.component === 'server';
  const detail = {
    service: findings.service,
    ...(findings.version !== undefined && { version: findings.version }),
    ...(isServer && { snapshots: [...findings.snapshots] }),
  };
  const endpoint = isServer ? { endpoint: apiAddress(member) } : {};
  const found = (health: AppHealth, message?: string, isRepairable = false): MemberObservation => ({
    health,
    ...(message !== undefined && { message }),
    ...endpoint,
    detail,
    ...(isRepairable && { isRepairable }),
  });
  if (findings.service !== 'active') return found('failed', `the service ${service} is ${findings.service}`, true);
  if (isServer && findings.isApiReady !== true) return found('failed', 'the Kubernetes API of this server is not ready', true);
  const ready = nodes.nodes.get(name) ?? findings.nodes.get(name);
  if (ready === undefined) return found('failed', 'the cluster has no node of this name', true);
  if (ready !== 'True') return found('degraded', `the node is not ready in the cluster (${ready})`, true);
  if (findings.isExpiring) return found('degraded', 'certificates expire within 30 days; `rotate-certificates` renews them');
  if (nodes.cordoned.has(name)) return found('healthy', 'it is drained and takes no new pods');
  return found('healthy', findings.isExpiryUnknown ? 'nobody can read when its certificates expire' : undefined);
}

/** Somebody has changed a member that works, so its health stays as it is. */
function withDrift(observation: MemberObservation, drift: string | undefined): MemberObservation {
  if (drift === undefined || observation.health !== 'healthy') return observation;
  return { ...observation, message: [observation.message, `${drift}; \`reconcile\` restores it`].filter(Boolean).join('; ') };
}

function nodesSeen(members: readonly AdapterMember[], seen: Seen): Pick<Findings, 'nodes' | 'cordoned'> {
  const views = members
    .filter(({ component }) => component === 'server')
    .flatMap(({ name }) => seen.get(name) ?? [])
    .filter(({ isApiReady }) => isApiReady);
  return {
    nodes: new Map(views.flatMap(({ nodes }) => [...nodes])),
    cordoned: new Set(views.flatMap(({ cordoned }) => [...cordoned])),
  };
}

/** The cluster can be used as long as one server answers, whatever its other members do. */
function summary(observed: readonly (readonly [AdapterMember, MemberObservation])[], seen: Seen): Pick<Observation, 'health' | 'message'> {
  const servers = observed.filter(([{ component, hasJoined }]) => component === 'server' && hasJoined);
  const joining = observed.filter(([, { health }]) => health === 'progressing');
  const count = (health: AppHealth): number => observed.filter(([, one]) => one.health === health).length;
  if (servers.length === 0) {
    const failed = observed.find(([{ component }, { health }]) => component === 'server' && health === 'failed');
    return failed === undefined
      ? { health: 'progressing', message: 'the server is not ready yet' }
      : { health: 'failed', message: 'the server was not deployed' };
  }
  const usable = servers.filter(([{ name }]) => seen.get(name)?.isApiReady === true);
  if (usable.length === 0 && servers.every(([{ state }]) => state === 'stopped'))
    return { health: 'healthy', message: 'the instance is stopped' };
  if (usable.length === 0) {
    if (servers.every(([{ name }]) => !seen.has(name))) return { health: 'unknown', message: 'the servers are silent' };
    const lost = servers.filter(([{ name }]) => seen.get(name)?.service !== 'active').length;
    return {
      health: 'failed',
      message: lost * 2 > servers.length && servers.length > 1 ? withoutQuorum(lost, servers.length) : 'no server answers',
    };
  }
  const ill = observed.filter(([, { health }]) => health === 'failed' || health === 'degraded' || health === 'unknown');
  if (ill.length > 0) {
    const named = ill.map(([{ node }, { message = '' }]) => `${node.name}: ${message}`).slice(0, 5);
    return { health: 'degraded', message: `${ill.length} of ${observed.length} members are not healthy (${named.join('; ')})` };
  }
  if (joining.length > 0) return { health: 'progressing', message: `${count('progressing')} members are joining` };
  return { health: 'healthy' };
}

/** etcd needs more than half of its members. */
const withoutQuorum = (lost: number, all: number): string =>
  `no server answers: ${lost} of ${all} servers are lost, so etcd has no quorum; bring enough of them back, or \`restore\` a snapshot`;

function refusals(members: readonly AdapterMember[], seen: Seen): NonNullable<Observation['refused']> {
  const servers = members.filter(({ component }) => component === 'server').flatMap(({ name }) => seen.get(name) ?? []);
  const isUsable = servers.some(({ isApiReady }) => isApiReady);
  const needApi = ['drain', 'uncordon', 'snapshot'].map((operation) => ({
    operation,
    reason: 'ApiNotReady',
    message: 'no server of the cluster answers',
  }));
  const hasSnapshots = servers.some(({ snapshots }) => snapshots.length > 0);
  return [
    ...(isUsable ? [] : needApi),
    ...(hasSnapshots ? [] : [{ operation: 'restore', reason: 'NoSnapshots', message: 'there is no snapshot to go back to' }]),
  ];
}
