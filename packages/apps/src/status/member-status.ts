import type { AppError, AppMember, AppMemberStatus, AppOperation, LastOperation, MemberState } from '@capstan/api';
import { fulfillingTypes, isFinal } from '../operations/types.ts';

/** The short form of an operation in the status of an instance or a member. */
export function lastOperationOf({ metadata, spec, status }: AppOperation): LastOperation {
  const {
    steps: _s,
    errors: _e,
    observedGeneration: _o,
    instructions: _i,
    revision: _r,
    sequence: _q,
    residues: _d,
    state = 'pending',
    ...rest
  } = status ?? {};
  return { id: metadata.name ?? '', type: spec.type, state, ...rest };
}

/** Whether the operation has something to say about the member. */
export function isBusy({ metadata }: AppMember, operation: AppOperation | undefined): boolean {
  const steps = operation?.status?.steps ?? [];
  return steps.some(({ member, state }) => member === metadata.name && state !== 'succeeded' && state !== 'skipped');
}

/** The status of a member while an operation works on it, or has just ended. Once the end is told, the operation has nothing more to say. */
export function memberStatus(member: AppMember, operation: AppOperation | undefined, isWanted: boolean): AppMemberStatus {
  const { metadata, status = {} } = member;
  const known = { ...status, observedGeneration: metadata.generation ?? 0 };
  const steps = (operation?.status?.steps ?? []).filter((step) => step.member === metadata.name);
  if (operation === undefined || steps.length === 0) return known;
  const isTold = status.lastOperation?.id === operation.metadata.name && status.lastOperation?.state === operation.status?.state;
  if (isFinal(operation) && isTold) return known;
  const errors = (operation.status?.errors ?? []).filter((error) => error.member === metadata.name);
  const failed = steps.some(({ state }) => state === 'failed');
  const begun = steps.some(({ state }) => state !== 'pending');
  const { lastErrors: _l, message: before, ...kept } = known;
  const message = isBusy(member, operation)
    ? steps.find((step) => step.message !== undefined && step.state !== 'skipped')?.message
    : before;
  return {
    ...kept,
    state: stateOf({ status, operation, isWanted, failed, begun }),
    ...(message !== undefined && { message }),
    ...withErrors(errors),
    lastOperation: lastOperationOf(operation),
  };
}

interface StateFacts {
  readonly status: AppMemberStatus;
  readonly operation: AppOperation;
  readonly isWanted: boolean;
  readonly failed: boolean;
  readonly begun: boolean;
}

function stateOf({ status, operation, isWanted, failed, begun }: StateFacts): MemberState {
  const { state = 'pending', joined = false } = status;
  if (state === 'removed') return state;
  if (operation.spec.type === 'decommission' || (!isWanted && operation.spec.type === 'change')) return begun ? 'removing' : state;
  if (failed) return joined ? state : 'failed';
  if (!begun || joined) return state === 'failed' && !joined && begun ? 'joining' : state;
  return 'joining';
}

export interface Settlement {
  readonly joins: boolean;
  readonly leaves: boolean;
  /** Whether the plan has steps for the member. */
  readonly takesPart: boolean;
  /** A step has failed, and the operation went on without the member. */
  readonly isDegraded: boolean;
  readonly isWanted: boolean;
}

/** The status of a member when an operation has succeeded. */
export function settledStatus(
  member: AppMember,
  operation: AppOperation,
  { joins, leaves, takesPart, isDegraded, isWanted }: Settlement,
): AppMemberStatus {
  const { metadata, status = {} } = member;
  const { type } = operation.spec;
  const errors = (operation.status?.errors ?? []).filter((error) => error.member === metadata.name);
  if (!joins && !leaves && !takesPart) {
    const isForgotten = isWanted && status.joined !== true && fulfillingTypes.has(type);
    return isForgotten ? { ...status, state: 'failed', message: 'the plan of the adapter did not make it a part of the instance' } : status;
  }
  const { lastErrors: _l, message: _m, ...kept } = status;
  const short = takesPart ? { lastOperation: { ...lastOperationOf(operation), state: 'succeeded' as const } } : {};
  const base = { ...kept, observedGeneration: metadata.generation ?? 0, ...short, ...withErrors(errors) };
  if (leaves) return { ...base, state: 'removed', joined: false };
  if (isDegraded)
    return {
      ...base,
      state: status.joined === true ? restingState(operation) : 'failed',
      message: errors[0]?.message ?? 'a step has failed',
    };
  if (joins || status.joined === true) return { ...base, state: restingState(operation), joined: true };
  return base;
}

const restingState = ({ spec }: AppOperation): MemberState => (spec.type === 'stop' ? 'stopped' : 'running');

function withErrors(errors: readonly AppError[]): { readonly lastErrors?: readonly AppError[] } {
  return errors.length > 0 ? { lastErrors: errors } : {};
}
