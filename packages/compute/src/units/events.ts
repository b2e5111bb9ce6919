import type { GPUUnitStatus } from '@capstan/api';
import type { RecordedEvent } from '@capstan/controller';
import { findCondition } from '@capstan/controller';
import { isOver } from './scene.ts';

/** The events that a change of the status is worth. */
export function eventsFor(before: GPUUnitStatus | undefined, after: GPUUnitStatus): RecordedEvent[] {
  const found: RecordedEvent[] = [];
  const add = (type: RecordedEvent['type'], reason: string, message: string): void => void found.push({ type, reason, message });
  const became = (condition: string, status: string): boolean =>
    findCondition(after.conditions, condition)?.status === status && findCondition(before?.conditions, condition)?.status !== status;
  const messageOf = (condition: string): string => findCondition(after.conditions, condition)?.message ?? '';
  if (became('Configured', 'False')) add('Warning', 'NotConfigured', messageOf('Configured'));
  if (became('Allocated', 'True')) add('Normal', 'Allocated', messageOf('Allocated'));
  if (became('Started', 'True')) add('Normal', 'Started', after.message ?? '');
  if ((after.restarts ?? 0) > (before?.restarts ?? 0) && after.run === before?.run)
    add('Warning', 'Restarted', 'a program was started again by its restart policy');
  if (became('NodeReachable', 'False')) add('Warning', 'NodeSilent', messageOf('NodeReachable'));
  if (became('NodeReachable', 'True') && findCondition(before?.conditions, 'NodeReachable') !== undefined)
    add('Normal', 'NodeBack', 'the node is heard again');
  if (isOver(after) && !isOver(before)) add(after.phase === 'Failed' ? 'Warning' : 'Normal', 'Ended', after.message ?? '');
  if (before?.run !== undefined && after.run !== before.run && !isOver(before)) add('Normal', 'StartedAgain', after.message ?? '');
  return found;
}
