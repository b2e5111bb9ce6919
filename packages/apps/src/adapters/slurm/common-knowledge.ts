import { createHash } from 'node:crypto';
import { AdapterProblem, type InstanceRequest } from '../../adapter/contract.ts';
import { type Cluster, clusterOf, membersOf } from './cluster.ts';

/** What every member knows of the cluster. A member that is silent while it changes has to learn it later. */

/** The lines of /etc/hosts by which members find each other. */
export const hostsOf = (cluster: Cluster): string[] => membersOf(cluster).map(({ name, member }) => `${member.node.address} ${name}`);

/** The users, who have the same uid everywhere. */
export const usersOf = ({ settings }: Cluster): string[] => settings.users.map(({ name, uid }) => `${name}:${uid}`);

/** Hashes by which a member says what it knows. */
export interface Knowledge {
  readonly hosts: string;
  readonly users: string;
}

/** What members have to know; undefined while members come and go, of which an operation tells the others, or if the cluster cannot be as it is wished. */
export function knowledgeOf(request: InstanceRequest): Knowledge | undefined {
  if (request.members.some(({ isWanted, hasJoined, state }) => !isWanted || (!hasJoined && state !== 'failed'))) return undefined;
  try {
    const cluster = clusterOf(request);
    return { hosts: hashOf(hostsOf(cluster).sort()), users: hashOf(usersOf(cluster)) };
  } catch (error) {
    if (error instanceof AdapterProblem) return undefined;
    throw error;
  }
}

/** As the script `probe` hashes lines. It sorts those of hosts, whose order says nothing. */
const hashOf = (lines: readonly string[]): string =>
  createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('hex')
    .slice(0, 16);
