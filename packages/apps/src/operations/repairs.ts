import type { AppOperation, AppOperationStatus } from '@capstan/api';
import { formatTime } from '@capstan/machinery';
import type { Situation } from '../status/actions.ts';
import { admit } from './requests.ts';
import { isFinal, isWork } from './types.ts';

interface Report {
  readonly operation: AppOperation;
  readonly status: AppOperationStatus;
}

/**
 * An operation that waits for a person ends when they ask for a repair: the repair takes its place, and afterwards the platform begins what the wish still asks for. A repair that is
 * refused changes nothing.
 */
export function repairInstead(operation: AppOperation, situation: Situation, now: number): Report | undefined {
  if (operation.status?.state !== 'needs_intervention' || operation.spec.cancelled) return undefined;
  const repair = situation.operations.find((one) => one !== operation && one.spec.type === 'repair' && isWork(one) && !isFinal(one));
  if (repair === undefined) return undefined;
  const others = { ...situation, operations: situation.operations.filter((one) => one !== repair) };
  const admission = admit(repair, others, now);
  if (admission.kind === 'refused') return { operation: repair, status: admission.status };
  if (admission.kind === 'waits') return undefined;
  const { message = 'it needed a person', instructions: _, ...rest } = operation.status;
  return {
    operation,
    status: {
      ...rest,
      state: 'failed',
      message: `${message}; the repair ${repair.metadata.name} takes its place`.slice(0, 4096),
      finishedAt: formatTime(new Date(now)),
    },
  };
}
