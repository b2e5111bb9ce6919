import type { AdapterMember } from '../../adapter/contract.ts';

/** The programs end the name of a snapshot with the node that has it and the time: `nightly-gpu-1-1767225600`. */
const suffix = /-\d+(?:\.zip)?$/;

/** The server on whose disk a snapshot is, as its name says; undefined if it does not. */
export function snapshotHolder(snapshot: string, servers: readonly AdapterMember[]): AdapterMember | undefined {
  if (!suffix.test(snapshot)) return undefined;
  const name = snapshot.replace(suffix, '');
  const matching = (server: AdapterMember): number =>
    Math.max(0, ...[server.node.name, server.node.hostname].filter((node) => name.endsWith(`-${node}`)).map(({ length }) => length));
  // One name may end with another.
  const [best] = servers.filter((server) => matching(server) > 0).toSorted((one, other) => matching(other) - matching(one));
  return best;
}
