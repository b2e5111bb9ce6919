import { createHash } from 'node:crypto';
import { initializerLabelPrefix, phaseLabel, terminatorLabelPrefix } from './facts.ts';

/** Labels have at most this many characters. */
const labelLength = 63;

/** Who waits for a workspace is a label of its own, hashed since names of types are longer than labels may be. */
function waiting(prefix: string, names: readonly string[]): [string, string][] {
  return names.map((name) => {
    const hash = createHash('sha224').update(name).digest('hex');
    return [prefix + hash.slice(0, labelLength - prefix.length), hash];
  });
}

/** The labels that tell clients what a LogicalCluster waits for. */
export function waitingLabels(of: {
  readonly phase: string;
  readonly initializers: readonly string[];
  readonly terminators: readonly string[];
}): Record<string, string> {
  return Object.fromEntries([
    [phaseLabel, of.phase],
    ...waiting(initializerLabelPrefix, of.initializers),
    ...waiting(terminatorLabelPrefix, of.terminators),
  ]);
}

const base36 = (bytes: Buffer): string => BigInt(`0x${bytes.toString('hex')}`).toString(36);

/** How a Workspace names its shard. */
export function shardHash(name: string): string {
  return base36(createHash('sha224').update(name).digest()).slice(0, 8);
}
