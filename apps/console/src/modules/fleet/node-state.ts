import type { Condition, GPUNode } from '@capstan/api';
import type { Tone } from '../../components/status.tsx';

export interface NodeState {
  readonly tone: Tone;
  readonly word: string;
  readonly reason: string;
}

export const conditionOf = (node: GPUNode, type: string): Condition | undefined =>
  (node.status?.conditions ?? []).find((condition) => condition.type === type);

const isFalse = (node: GPUNode, type: string): boolean => conditionOf(node, type)?.status === 'False';

/** A node in one word: the worst thing that is true of it. */
export function stateOf(node: GPUNode): NodeState {
  const { spec, status, metadata } = node;
  if (metadata.deletionTimestamp !== undefined)
    return { tone: 'busy', word: 'Removing', reason: conditionOf(node, 'Removable')?.message ?? 'it goes when nothing is booked on it' };
  if (status?.identity === undefined) return { tone: 'idle', word: 'Not enrolled', reason: 'no machine has joined as this node' };
  if (status.identity.locked !== undefined) return { tone: 'bad', word: 'Locked', reason: status.identity.locked.reason };
  if (spec?.lost === true) return { tone: 'bad', word: 'Lost', reason: 'its owner declared that the machine is off for good' };
  const ready = conditionOf(node, 'Ready');
  if (ready?.status !== 'True') return { tone: 'bad', word: 'Silent', reason: ready?.message || 'its agent is not heard' };
  if (isFalse(node, 'GPUsHealthy')) return { tone: 'warn', word: 'Degraded', reason: conditionOf(node, 'GPUsHealthy')!.message };
  if (isFalse(node, 'Clean')) return { tone: 'warn', word: 'Not clean', reason: conditionOf(node, 'Clean')!.message };
  if (spec?.maintenance === true) return { tone: 'idle', word: 'Maintenance', reason: spec.comment ?? 'people work on it' };
  if (spec?.unschedulable === true) return { tone: 'idle', word: 'Cordoned', reason: 'it gets no new allocations' };
  if (isFalse(node, 'AgentSupported')) return { tone: 'warn', word: 'Old agent', reason: conditionOf(node, 'AgentSupported')!.message };
  return { tone: 'good', word: 'Ready', reason: '' };
}

/** Whether somebody should look at it. */
export const needsHelp = (node: GPUNode): boolean => ['bad', 'warn'].includes(stateOf(node).tone);
