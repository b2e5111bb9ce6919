import type { AppError, AppOperation, AppOperationStatus, AppStep } from '@capstan/api';
import { formatTime } from '@capstan/machinery';
import { refusalOf, type Situation } from '../status/actions.ts';
import { currentOperation, isControl, isFinal, lastOperation } from './types.ts';

/** The next write for an operation that changes another one. */
export type Control =
  | { readonly kind: 'report'; readonly operation: AppOperation; readonly status: AppOperationStatus }
  /** Sets `spec.cancelled`. */
  | { readonly kind: 'cancel'; readonly operation: AppOperation }
  /** Takes the problems of members off the list. */
  | { readonly kind: 'acknowledge'; readonly member?: string };

/**
 * The first control operation that is not over says `processing` before it changes anything: after a crash it is clear that the change was meant, and a change that was made is
 * recognized by its result.
 */
export function nextControl(situation: Situation, now: number): Control | undefined {
  const operation = situation.operations.find((one) => isControl(one) && !isFinal(one));
  if (operation === undefined) return undefined;
  const time = formatTime(new Date(now));
  const over = (status: AppOperationStatus): Control => ({
    kind: 'report',
    operation,
    status: { ...operation.status, finishedAt: time, startedAt: operation.status?.startedAt ?? time, ...status },
  });
  if (operation.status?.state !== 'processing') {
    if (operation.spec.cancelled) return over({ state: 'cancelled' });
    const refusal = refusalOf(situation, operation.spec.type, operation.spec.member);
    if (refusal !== undefined)
      return over({ state: 'failed', message: refusal.message, errors: [errorOf(refusal.reason, refusal.message, time)] });
    return { kind: 'report', operation, status: { state: 'processing', startedAt: time } };
  }
  const change = changeOf(operation, situation, now);
  return change ?? over({ state: 'succeeded', message: sentences[operation.spec.type] ?? '' });
}

const sentences: Readonly<Record<string, string>> = {
  retry: 'the failed steps are tried again',
  resume: 'the operation goes on',
  cancel: 'the operation ends at the next step',
  acknowledge: 'the problems are off the list',
  'force-delete': 'the instance is deleted without removing the rest',
};

/** The change that is still to be made; undefined if it was made. */
function changeOf({ spec }: AppOperation, { operations, members }: Situation, now: number): Control | undefined {
  const last = lastOperation(operations);
  switch (spec.type) {
    case 'retry':
      return last?.status?.state === 'failed' ? { kind: 'report', operation: last, status: reopened(last, now) } : undefined;
    case 'resume':
      return last?.status?.state === 'needs_intervention' ? { kind: 'report', operation: last, status: reopened(last, now) } : undefined;
    case 'cancel': {
      const current = currentOperation(operations);
      return current === undefined || current.spec.cancelled || current.spec.type === 'decommission'
        ? undefined
        : { kind: 'cancel', operation: current };
    }
    case 'acknowledge': {
      const mine = (error: AppError): boolean => spec.member === undefined || error.member === spec.member;
      const errors = last?.status?.errors ?? [];
      // Also of one that runs or waits for a person: it lists an error once, when it happens.
      if (last !== undefined && errors.some(mine)) return { kind: 'report', operation: last, status: withoutErrors(last, mine) };
      const member = members.find(
        ({ metadata, status }) => (status?.lastErrors ?? []).length > 0 && (spec.member ?? metadata.name) === metadata.name,
      );
      return member && { kind: 'acknowledge', member: member.metadata.name ?? '' };
    }
    default:
      return undefined;
  }
}

function withoutErrors({ status }: AppOperation, mine: (error: AppError) => boolean): AppOperationStatus {
  const { errors = [], ...rest } = status ?? {};
  const left = errors.filter((error) => !mine(error));
  return { ...rest, ...(left.length > 0 && { errors: left }) };
}

/** The operation goes on with the steps that have not succeeded, with a new budget for each. */
function reopened({ status }: AppOperation, now: number): AppOperationStatus {
  const { finishedAt: _f, message: _m, instructions: _i, errors: _e, nextRetryAt: _n, steps = [], ...rest } = status ?? {};
  const again = steps.map((step): AppStep => {
    if (step.state === 'succeeded') return step;
    const { finishedAt: _finished, message: _message, nextRetryAt: _retry, tries: _tries, ...kept } = step;
    return { ...kept, state: 'pending' };
  });
  return {
    ...rest,
    state: 'processing',
    startedAt: rest.startedAt ?? formatTime(new Date(now)),
    ...(status?.steps !== undefined && { steps: again }),
  };
}

export function errorOf(code: string, message: string, time: string): AppError {
  return { code, message: message.slice(0, 4096), userFixable: true, retryable: false, time };
}
