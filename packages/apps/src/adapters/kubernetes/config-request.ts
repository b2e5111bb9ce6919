import type { AdapterInstance, AdapterMember } from '../../adapter/contract.ts';
import type { Distribution } from './distribution.ts';

export interface ConfigRequest {
  readonly distribution: Distribution;
  readonly instance: AdapterInstance;
  readonly member: AdapterMember;
  /** All servers of the instance, those that are a part of the cluster first. */
  readonly servers: readonly AdapterMember[];
  /** The server that all others join, whatever is known about them: the one that a snapshot is restored on. */
  readonly founder?: AdapterMember | undefined;
}

/**
 * The server that a member joins: another one that is a part of the cluster, and is heard if one is. Undefined for a server that makes the cluster. A server that lost its data must
 * never make a second cluster while there is a first one.
 */
export function joinedServer({
  member,
  servers,
  founder,
}: Pick<ConfigRequest, 'member' | 'servers' | 'founder'>): AdapterMember | undefined {
  const isOther = ({ name }: AdapterMember): boolean => name !== member.name;
  if (founder !== undefined) return isOther(founder) ? founder : undefined;
  const joined = servers.filter((server) => isOther(server) && server.hasJoined);
  const [first] = servers;
  return leadOf(joined) ?? (first !== undefined && isOther(first) ? first : undefined);
}

/** The server that steps for the whole cluster run on: the first that is a part of it and is heard. */
export function leadOf(servers: readonly AdapterMember[]): AdapterMember | undefined {
  return servers.find(({ hasJoined, node }) => hasJoined && node.isReady) ?? servers[0];
}

/** The wanted servers, those that are a part of the cluster first. */
export function serversOf(members: readonly AdapterMember[]): AdapterMember[] {
  const servers = members.filter(({ component, isWanted }) => component === 'server' && isWanted);
  return [...servers.filter(({ hasJoined }) => hasJoined), ...servers.filter(({ hasJoined }) => !hasJoined)];
}
