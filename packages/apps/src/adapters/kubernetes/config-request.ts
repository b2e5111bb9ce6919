import type { AdapterInstance, AdapterMember } from '../../adapter/contract.ts';
import type { Distribution } from './distribution.ts';

export interface ConfigRequest {
  readonly distribution: Distribution;
  readonly instance: AdapterInstance;
  readonly member: AdapterMember;
  /** All servers of the instance, the one that the others join first. */
  readonly servers: readonly AdapterMember[];
}

/** The server that a member joins; undefined for the first one. */
export function joinedServer({ member, servers }: Pick<ConfigRequest, 'member' | 'servers'>): AdapterMember | undefined {
  const [first] = servers;
  return member.name === first?.name ? undefined : first;
}

/** The wanted servers, those that are a part of the cluster first. */
export function serversOf(members: readonly AdapterMember[]): AdapterMember[] {
  const servers = members.filter(({ component, isWanted }) => component === 'server' && isWanted);
  return [...servers.filter(({ hasJoined }) => hasJoined), ...servers.filter(({ hasJoined }) => !hasJoined)];
}
