import type { NodeConnection } from '@capstan/streams';

/** The nodes that have dialled in. */
export interface Tunnels {
  /** A connection to a node; undefined if there is no such node, or it has no tunnel. */
  to(node: string): NodeConnection | undefined | Promise<NodeConnection | undefined>;
}

export const noTunnels: Tunnels = { to: () => undefined };
