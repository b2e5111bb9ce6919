import type { AppInstanceStatus, AppOperation, AppOperationStatus } from '@capstan/api';
import type { RecordedEvent } from '@capstan/controller';

/** The events that a change of the status of an instance is worth. */
export function eventsFor(before: AppInstanceStatus | undefined, after: AppInstanceStatus | undefined): RecordedEvent[] {
  const found: RecordedEvent[] = [];
  const add = (type: RecordedEvent['type'], reason: string, message: string): void => void found.push({ type, reason, message });
  if (after?.health !== before?.health && after?.health !== undefined && after.state === 'running') {
    const isGood = after.health === 'healthy' || after.health === 'progressing';
    add(isGood ? 'Normal' : 'Warning', `Health${word(after.health)}`, after.message ?? `the health is ${after.health}`);
  }
  const residues = after?.residues ?? [];
  if (residues.length > (before?.residues?.length ?? 0)) {
    const list = residues.slice(0, 8).map(({ node, name, message }) => `${name} on ${node}: ${message}`);
    add(
      'Warning',
      'Residues',
      `${residues.length} ${residues.length === 1 ? 'thing is' : 'things are'} left: ${list.join('; ')}`.slice(0, 1000),
    );
  }
  return found;
}

/** The events that the progress of an operation is worth. */
export function operationEvents({ spec, status: before, metadata }: AppOperation, after: AppOperationStatus | undefined): RecordedEvent[] {
  if (after?.state === undefined || after.state === before?.state || spec.dryRun) return [];
  const subject = `${spec.type}${spec.member === undefined ? '' : ` of ${spec.member}`} (${metadata.name})`;
  const detail = after.message === undefined ? '' : `: ${after.message}`;
  switch (after.state) {
    case 'processing':
      return before?.state === 'retrying' ? [] : [{ type: 'Normal', reason: 'OperationStarted', message: `${subject} has begun` }];
    case 'succeeded':
      return [{ type: 'Normal', reason: 'OperationSucceeded', message: `${subject} has succeeded` }];
    case 'retrying':
      return [{ type: 'Warning', reason: 'OperationRetrying', message: `${subject} is tried again${detail}`.slice(0, 1000) }];
    case 'failed':
      return [{ type: 'Warning', reason: 'OperationFailed', message: `${subject} has failed${detail}`.slice(0, 1000) }];
    case 'needs_intervention':
      return [{ type: 'Warning', reason: 'NeedsIntervention', message: `${subject} waits for a person${detail}`.slice(0, 1000) }];
    case 'cancelled':
      return [{ type: 'Normal', reason: 'OperationCancelled', message: `${subject} was cancelled` }];
    default:
      return [];
  }
}

const word = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`;
