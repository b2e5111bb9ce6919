import type { Allocation, AllocationStatus } from '@capstan/api';
import { type Condition, setCondition } from '@capstan/controller';
import type { Attempt } from '@capstan/fleet';

/** `Granted`: the allocation has its devices. */
export type AllocationCondition = 'Granted';

export type WaitingReason = 'Shortage' | 'OfferingNotFound' | 'QuotaExceeded' | 'WorkspaceUnknown';

const mostWords = 4096;

interface Report {
  readonly type: AllocationCondition;
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

/** The attempt that counts is named here, once and for all. */
export function grantedStatus(allocation: Allocation, { name, parts }: Attempt, now: Date): AllocationStatus {
  const { message: _, ...rest } = allocation.status ?? {};
  const report: Report = { type: 'Granted', status: 'True', reason: 'Granted', message: wordsFor(parts) };
  return {
    ...rest,
    ...reported(allocation, [report], now),
    phase: 'Active',
    attempt: name,
    parts: parts.map(({ node, devices }) => ({ node, devices })),
  };
}

export function waitingStatus(
  allocation: Allocation,
  { reason, message }: { readonly reason: WaitingReason; readonly message: string },
  now: Date,
): AllocationStatus {
  const report: Report = { type: 'Granted', status: 'False', reason, message: message.slice(0, mostWords) };
  return { ...allocation.status, ...reported(allocation, [report], now), phase: 'Pending', message: report.message };
}

/** `4 GPUs on n1`. */
export function wordsFor(parts: readonly { readonly node: string; readonly devices: readonly string[] }[]): string {
  return parts.map(({ node, devices }) => `${devices.length} ${devices.length === 1 ? 'GPU' : 'GPUs'} on ${node}`).join(', ');
}

function reported({ metadata, status }: Allocation, reports: readonly Report[], now: Date): Pick<AllocationStatus, 'conditions'> {
  const observedGeneration = metadata.generation ?? 0;
  let conditions: readonly Condition[] = (status?.conditions ?? []) as readonly Condition[];
  for (const report of reports) conditions = setCondition(conditions, { ...report, observedGeneration }, now);
  return { observedGeneration, conditions } as Pick<AllocationStatus, 'conditions'>;
}
