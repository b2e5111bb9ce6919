import type { BackoffOptions } from '@capstan/machinery';
import type { TunnelLimits } from '@capstan/streams';
import { ControlPlane } from './control-plane/control-plane.ts';
import type { JoinOptions } from './identity/membership.ts';
import { obtainIdentity } from './identity/obtain.ts';
import { StateDirectory } from './identity/state.ts';
import { type NodeHandlers, routeRequests } from './requests/router.ts';

export interface AgentOptions {
  readonly stateDirectory: string;
  /** Needed until the machine has an identity. */
  readonly join?: JoinOptions | undefined;
  readonly handlers: NodeHandlers;
  readonly log: (line: string) => void;
  /** Stops the agent. */
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  readonly backoff?: BackoffOptions;
  readonly limits?: Partial<TunnelLimits>;
  /** How often the Lease is renewed, and how often the list of servers is read, in milliseconds. */
  readonly heartbeatInterval?: number;
  readonly serversInterval?: number;
  readonly onReady?: (node: string) => void;
}

/**
 * Runs the agent of a node until the signal aborts. Rejects with an `AgentError` `refused` when the control plane does not accept this machine: only a
 * person can help then.
 */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { log, signal, now = () => new Date(), backoff = { base: 500, max: 30_000, random: Math.random } } = options;
  const state = await StateDirectory.open(options.stateDirectory);
  const identity = await obtainIdentity(state, { join: options.join, now, backoff, log, signal });
  if (identity === undefined) return;
  const controlPlane = new ControlPlane(identity, {
    state,
    handle: routeRequests(options.handlers),
    now,
    backoff,
    limits: options.limits ?? {},
    heartbeatInterval: options.heartbeatInterval ?? 10_000,
    serversInterval: options.serversInterval ?? 30_000,
    log,
  });
  options.onReady?.(identity.node);
  await controlPlane.run(signal);
}
