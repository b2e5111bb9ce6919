import type { GPUNode } from '@capstan/api';
import { type Condition, findCondition } from '@capstan/controller';
import { allocationWords, counted } from '../words/amounts.ts';
import type { Cleaned } from './next-entries.ts';

export type CleanCondition = Pick<Condition, 'status' | 'reason' | 'message'>;

const mostWords = 32_768;

/**
 * The condition `Clean` of a node; undefined to leave it alone. Nodes on which nothing has ever remained have none, and a cleaning that goes its way is not mentioned: it
 * takes a moment, and there is one for each allocation.
 */
export function cleanCondition(node: GPUNode, cleaned: readonly Cleaned[]): CleanCondition | undefined {
  const present = findCondition(node.status?.conditions as readonly Condition[] | undefined, 'Clean');
  const next = conditionOf(node, cleaned, present);
  return next === undefined || (next.status === present?.status && next.message === present.message) ? undefined : next;
}

function conditionOf(node: GPUNode, cleaned: readonly Cleaned[], present: Condition | undefined): CleanCondition | undefined {
  const failed = cleaned.flatMap(({ entry, outcome }) => (outcome.kind === 'failed' ? [{ entry, why: outcome.why }] : []));
  if (failed.length > 0) {
    const sentences = failed.map(({ entry: { allocation, devices }, why }) => {
      return `after ${allocationWords(allocation)} (${counted(devices.length, 'GPU')}): ${why}`;
    });
    return { status: 'False', reason: 'Remains', message: sentences.join('; ').slice(0, mostWords) };
  }
  const ready = findCondition(node.status?.conditions as readonly Condition[] | undefined, 'Ready');
  const open = cleaned.filter(({ outcome }) => outcome.kind !== 'clean');
  if (open.length > 0 && ready?.status !== 'True')
    return {
      status: 'Unknown',
      reason: 'Silent',
      message: `${counted(open.length, 'allocation')} left something here, and the agent is silent`,
    };
  return cleaned.length === 0 && present !== undefined ? { status: 'True', reason: 'Cleaned', message: '' } : undefined;
}
