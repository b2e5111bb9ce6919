import { createHash } from 'node:crypto';
import { phaseLabel } from './facts.ts';
import type { LogicalCluster } from './kinds.ts';

const initializerPrefix = 'initializer.internal.kcp.io/';
const terminatorPrefix = 'terminator.internal.kcp.io/';
/** The longest name of a label. */
const labelLength = 63;

/** The labels that show what a LogicalCluster waits for, and null for those to remove. */
export function labelChanges({ metadata, status }: LogicalCluster): Record<string, string | null> {
  const phase = metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Scheduling') : 'Deleting';
  const wanted = new Map([
    [phaseLabel, phase as string],
    ...(status?.initializers ?? []).map((name) => hashed(initializerPrefix, name)),
    ...(status?.terminators ?? []).map((name) => hashed(terminatorPrefix, name)),
  ]);
  const changes: Record<string, string | null> = {};
  for (const [key, value] of wanted) if (metadata.labels?.[key] !== value) changes[key] = value;
  for (const key of Object.keys(metadata.labels ?? {}))
    if ((key.startsWith(initializerPrefix) || key.startsWith(terminatorPrefix)) && !wanted.has(key)) changes[key] = null;
  return changes;
}

function hashed(prefix: string, name: string): [string, string] {
  const hash = createHash('sha224').update(name).digest('hex');
  return [prefix + hash.slice(0, labelLength - prefix.length), hash];
}

/** The name of a shard in a Workspace. */
export function shardHash(name: string): string {
  return BigInt(`0x${createHash('sha224').update(name).digest('hex')}`)
    .toString(36)
    .slice(0, 8);
}

/** The owner without the fields that were only needed to create the workspace; undefined if there are none. */
export function trimmedOwner(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const { username } = JSON.parse(text) as { username?: string };
    const short = JSON.stringify({ ...(username !== undefined && { username }) });
    return short === text ? undefined : short;
  } catch {
    return undefined;
  }
}
