import type { AllowedAction, App, AppConstraint, AppInstance, AppMember, AppOperation } from '@capstan/api';
import { isDeleting } from '@capstan/controller';
import { currentOperation, lastOperation } from '../operations/types.ts';

export interface Situation {
  readonly instance: AppInstance;
  readonly app: App | undefined;
  readonly members: readonly AppMember[];
  readonly operations: readonly AppOperation[];
  /** Why `force-delete` may be done: a node is silent, a step has failed for good, or nobody knows the steps. Undefined if it may not. */
  readonly stuck: string | undefined;
  /** Operations that the adapter refuses now. */
  readonly refused?: readonly AppConstraint[];
}

interface Action {
  readonly action: string;
  readonly member?: string;
  readonly title: string;
  readonly isDestructive: boolean;
}

type Refusal = Pick<AppConstraint, 'reason' | 'message'>;

/** An operation that is refused because another one runs can still be asked for: it waits. */
export const waitsReason = 'OperationRunning';

export interface Actions {
  readonly allowed: readonly AllowedAction[];
  readonly constraints: readonly AppConstraint[];
}

/** The actions that are possible on an instance now, and why the others are not. */
export function actionsOf(situation: Situation): Actions {
  const allowed: AllowedAction[] = [];
  const constraints: AppConstraint[] = [];
  for (const action of possible(situation)) {
    const { action: name, member } = action;
    const refusal = refusalOf(situation, name, member);
    if (refusal === undefined) allowed.push({ ...action });
    else if (isWorthwhile(refusal)) constraints.push({ action: name, ...(member !== undefined && { member }), ...refusal });
  }
  return { allowed: allowed.slice(0, 256), constraints: constraints.slice(0, 64) };
}

/** People know that there is nothing to retry if nothing has failed. */
const isWorthwhile = ({ reason }: Refusal): boolean => !reason.startsWith('Nothing');

function possible({ app, members }: Situation): Action[] {
  const common: Action[] = [
    { action: 'retry', title: 'Try the failed steps again', isDestructive: false },
    { action: 'resume', title: 'Go on after an intervention', isDestructive: false },
    { action: 'cancel', title: 'Cancel the operation', isDestructive: true },
    { action: 'acknowledge', title: 'Take the problems off the list', isDestructive: false },
    { action: 'reconcile', title: 'Make everything as it should be', isDestructive: false },
    { action: 'force-delete', title: 'Delete without removing the rest', isDestructive: true },
  ];
  const names = members.map(({ metadata }) => metadata.name ?? '');
  const own = (app?.spec.operations ?? []).flatMap(({ name, title, scope, isDestructive }): Action[] =>
    scope === 'instance'
      ? [{ action: name, title, isDestructive }]
      : names.map((member) => ({ action: name, member, title, isDestructive })),
  );
  return [
    ...common,
    ...names.map((member): Action => ({ action: 'repair', member, title: 'Repair the member', isDestructive: false })),
    ...own,
  ];
}

/** Why an operation is not done now; undefined if it is. */
export function refusalOf(situation: Situation, action: string, member?: string): Refusal | undefined {
  const { instance, operations, stuck } = situation;
  const last = lastOperation(operations);
  const current = currentOperation(operations);
  const removing = isDeleting(instance);
  switch (action) {
    case 'retry':
      return last?.status?.state === 'failed' ? undefined : { reason: 'NothingFailed', message: 'the last operation has not failed' };
    case 'resume':
      return last?.status?.state === 'needs_intervention'
        ? undefined
        : { reason: 'NothingToResume', message: 'no operation waits for a person' };
    case 'cancel':
      if (current === undefined) return { reason: 'NothingRuns', message: 'no operation runs' };
      return current.spec.type === 'decommission' ? { reason: 'NothingToCancel', message: 'a removal cannot be cancelled' } : undefined;
    case 'acknowledge':
      return hasProblems(situation) ? undefined : { reason: 'NothingToAcknowledge', message: 'there are no problems' };
    case 'force-delete':
      if (!removing) return { reason: 'NothingIsDeleted', message: 'the instance is not being deleted' };
      return stuck === undefined ? { reason: 'RemovalGoesOn', message: 'the removal is not stuck' } : undefined;
    default:
      return workRefusal(situation, action, member);
  }
}

function hasProblems({ operations, members }: Situation): boolean {
  const errors = lastOperation(operations)?.status?.errors ?? [];
  return errors.length > 0 || members.some(({ status }) => (status?.lastErrors ?? []).length > 0);
}

/** How the last operation may have ended if a member can be repaired although the instance is not deployed. */
const repairable: ReadonlySet<string> = new Set(['failed', 'cancelled', 'needs_intervention']);

function workRefusal(
  { instance, app, members, operations, refused = [] }: Situation,
  action: string,
  member: string | undefined,
): Refusal | undefined {
  if (isDeleting(instance)) return { reason: 'Removing', message: 'the instance is being deleted' };
  if (instance.spec.paused) return { reason: 'Paused', message: 'the instance is paused; set spec.paused to false' };
  const last = lastOperation(operations);
  const isDeployed = instance.status?.revision !== undefined;
  if (!isDeployed && !(action === 'repair' && repairable.has(last?.status?.state ?? '')))
    return { reason: 'NotDeployed', message: 'the instance is not deployed yet' };
  const own = app?.spec.operations?.find(({ name }) => name === action);
  if (instance.status?.stopped === true && action !== 'reconcile') return { reason: 'Stopped', message: 'the instance is stopped' };
  if ((own?.scope === 'member' || action === 'repair') && !members.some(({ metadata }) => metadata.name === member))
    return { reason: 'NoMember', message: member === undefined ? 'it needs a member' : `there is no member ${member}` };
  const by = refused.find((one) => one.action === action && (one.member === undefined || one.member === member));
  if (by !== undefined) return { reason: by.reason, message: by.message };
  const current = currentOperation(operations);
  if (current?.status?.state === undefined || current.spec.type === action) return undefined;
  // A repair takes the place of an operation that waits for a person.
  return action === 'repair' && current.status.state === 'needs_intervention'
    ? undefined
    : { reason: waitsReason, message: `the operation ${current.metadata.name} (${current.spec.type}) runs` };
}
