import { createHash, randomBytes } from 'node:crypto';
import { asClusterId, type ClusterId } from '../kcp/clusters.ts';
import { initializerLabelPrefix, phaseLabel, terminatorLabelPrefix } from '../kcp/facts.ts';

/** The longest name of a label. */
const labelLength = 63;
const idLength = 16;
const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

const sha224 = (text: string): string => createHash('sha224').update(text).digest('hex');

/** A new id for a workspace, long enough to be unique. */
export function newClusterId(): ClusterId {
  for (;;) {
    const id = BigInt(`0x${randomBytes(28).toString('hex')}`)
      .toString(36)
      .slice(0, idLength);
    if (id.length === idLength) return asClusterId(id);
  }
}

/** The id of a user's home workspace, which depends on the name alone. */
export function homeClusterId(user: string): ClusterId {
  return asClusterId(createHash('sha224').update(user).digest().readBigUInt64BE(0).toString(36));
}

/** The labels of a LogicalCluster: its phase, and one for each initializer and terminator, hashed because names of types are longer than labels may be. */
export function waitingLabels(of: {
  readonly phase: string;
  readonly initializers: readonly string[];
  readonly terminators: readonly string[];
}): Record<string, string> {
  return Object.fromEntries([
    [phaseLabel, of.phase],
    ...of.initializers.map((name) => hashedLabel(initializerLabelPrefix, name)),
    ...of.terminators.map((name) => hashedLabel(terminatorLabelPrefix, name)),
  ]);
}

function hashedLabel(prefix: string, name: string): [string, string] {
  const hash = sha224(name);
  return [prefix + hash.slice(0, labelLength - prefix.length), hash];
}

/** How a Workspace refers to its shard. */
export function shardHash(name: string): string {
  return BigInt(`0x${sha224(name)}`)
    .toString(36)
    .slice(0, 8);
}

/** The value of the label that names the export of a binding. `cluster` is the id of the export's workspace. */
export function exportLabelValue(cluster: string, name: string): string {
  return base62(sha224(`${cluster}:${name}`));
}

/** A hexadecimal number in fewer digits. */
export function base62(hex: string): string {
  let rest = BigInt(`0x${hex}`);
  let text = '';
  for (; rest > 0n; rest /= 62n) text = digits[Number(rest % 62n)] + text;
  return text;
}
export { renewed, withApplied } from './applied.ts';
export { apiResourceSchema } from './resource-schema.ts';
