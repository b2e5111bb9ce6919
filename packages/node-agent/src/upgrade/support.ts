/** The versions that a server announces. Old servers announce none. */
export interface ServerVersion {
  readonly version?: string | undefined;
  readonly oldestAgent?: string | undefined;
}

export interface Unsupported {
  readonly reason: 'AgentTooOld' | 'AgentTooNew';
  readonly message: string;
}

/** Why a server does not work with an agent; undefined if it does, or nobody knows. Builds do not count. */
export function unsupported(agent: string, { version, oldestAgent }: ServerVersion): Unsupported | undefined {
  if (oldestAgent !== undefined && compareVersions(agent, oldestAgent) < 0)
    return {
      reason: 'AgentTooOld',
      message: `the agent is ${agent}, and the control plane needs ${oldestAgent} or newer. Everything that runs goes on; upgrade the agent with "capstan node upgrade"`,
    };
  if (version !== undefined && compareVersions(agent, version) > 0)
    return {
      reason: 'AgentTooNew',
      message: `the agent is ${agent}, which is newer than the control plane, ${version}. Everything that runs goes on; upgrade the API servers`,
    };
  return undefined;
}

/** Compares `major.minor.patch`, without builds; 0 if one of them is no version. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [numbersOf(one), numbersOf(other)];
  if (left === undefined || right === undefined) return 0;
  for (const [index, number] of left.entries()) if (number !== right[index]) return number - right[index]!;
  return 0;
}

function numbersOf(version: string): number[] | undefined {
  return /^(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
}
