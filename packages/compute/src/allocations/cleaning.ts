import type { FleetNode, NodeFacts } from '@capstan/fleet';

/** The work on a node between two owners of the same devices. */
export interface Cleaning {
  /** Whether somebody else cleans the node and then finishes its entries. */
  readonly isDoneOn: (node: FleetNode | undefined) => boolean;
}

/** Nobody cleans: devices are released at once. */
export const noCleaning: Cleaning = { isDoneOn: () => false };

/** Why the devices on these nodes are released without cleaning; undefined if all of them are cleaned. */
export function whyNotCleaned(
  cleaning: Cleaning,
  nodes: readonly (readonly [name: string, node: FleetNode | undefined])[],
): string | undefined {
  const skipped = nodes.filter(([, node]) => !cleaning.isDoneOn(node)).map(([name]) => name);
  return skipped.length === 0 ? undefined : `the devices on ${skipped.join(', ')} are released without cleaning`;
}

/** The facts that releasing waits for. Entries that somebody else cleans stay until they are finished there. */
export function releaseFacts(cleaning: Cleaning, nodeOf: (name: string) => FleetNode | undefined): NodeFacts {
  return { isStopped: () => true, isClean: (name) => !cleaning.isDoneOn(nodeOf(name)) };
}
