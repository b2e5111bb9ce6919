import type { GPUNode } from '@capstan/api';
import type { Condition } from '@capstan/controller';
import type { Hearing } from './heartbeats.ts';

export type ReadyCondition = Pick<Condition, 'status' | 'reason' | 'message'>;

const silentReason = 'Silent';

/**
 * The condition `Ready` that follows from what is heard of the agent; undefined to leave it alone. The agent itself reports that it is
 * ready, or why it is not: only silence is judged here, and its end.
 */
export function readiness({ status }: GPUNode, hearing: Hearing, silentSeconds: number): ReadyCondition | undefined {
  const present = status?.conditions?.find(({ type }) => type === 'Ready');
  switch (hearing.kind) {
    case 'heard':
      return present === undefined || present.reason === silentReason
        ? { status: 'True', reason: 'Heartbeat', message: 'the agent renews its Lease' }
        : undefined;
    case 'listening':
      return undefined;
    case 'silent':
      return unlessSo(present, `nothing was heard of the agent for ${silentSeconds} s`);
    case 'never':
      return unlessSo(present, 'the agent has never connected');
  }
}

function unlessSo(present: { readonly reason: string; readonly message: string } | undefined, message: string): ReadyCondition | undefined {
  return present?.reason === silentReason && present.message === message ? undefined : { status: 'Unknown', reason: silentReason, message };
}
