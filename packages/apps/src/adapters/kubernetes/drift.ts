import { createHash } from 'node:crypto';
import type { AdapterInstance, AdapterMember } from '../../adapter/contract.ts';
import { serversOf } from './config-request.ts';
import { distributionOf } from './distribution.ts';
import type { Findings } from './probe-answer.ts';
import { configOf } from './settings.ts';

export type Seen = ReadonlyMap<string, Findings>;

interface Whole {
  readonly instance: AdapterInstance;
  readonly members: readonly AdapterMember[];
  readonly seen: Seen;
}

/** The first thing about a member that `reconcile` would change; undefined if there is none, or nobody knows. */
export function driftOf(member: AdapterMember, { instance, members, seen }: Whole): string | undefined {
  const findings = seen.get(member.name);
  if (findings === undefined || !member.hasJoined || !member.isWanted || member.state === 'stopped') return undefined;
  const distribution = distributionOf(instance.app);
  const { config, version, enabled } = findings;
  const servers = serversOf(members);
  // A member may have joined any of the servers.
  const wanted = [undefined, ...servers].map((founder) => hashOf(configOf({ distribution, instance, member, servers, founder })));
  if (config === 'missing') return `${distribution.configFile} is missing`;
  if (config !== undefined && !wanted.includes(config)) return `${distribution.configFile} was changed on the node`;
  if (version !== undefined && /^v\d/.test(instance.version) && version !== instance.version)
    return `${distribution.program} is ${version} instead of ${instance.version}`;
  if (enabled !== undefined && enabled !== 'enabled') return `systemd does not start its service with the machine (${enabled})`;
  const label = [...seen.values()].find(({ labels }) => labels.has(member.node.name))?.labels.get(member.node.name);
  return label === undefined || label === member.name ? undefined : `its node in the cluster has lost the label capstan.dev/member`;
}

/** Lines with secrets, or facts that only the node knows. The script `probe` leaves out the same. */
const secretLine = /^(?:(?:agent-)?token:|\s*"(?:token|certificateKey)":|\s*"(?:sha256:|\$\{fact:))/;

/** The hash of a configuration file without its secrets, of which the adapter knows only the names. */
export function hashOf(content: string): string {
  const lines = content
    .replace(/\n$/, '')
    .split('\n')
    .filter((line) => !secretLine.test(line));
  return createHash('sha256')
    .update(`${lines.join('\n')}\n`)
    .digest('hex');
}
