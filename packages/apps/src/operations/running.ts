import type { AppError, AppOperation, AppOperationStatus } from '@capstan/api';
import { nodeStateOf } from '@capstan/compute';
import { formatTime } from '@capstan/machinery';
import type { Asked, Scene } from '../instances/scene.ts';
import { type Advance, advance } from './advance.ts';
import type { KeptPlan, Place } from './scene.ts';
import { firstWindow, progressOf } from './window.ts';

/** The next thing to do for the operation that runs. */
export type Run =
  | Exclude<Advance, { readonly kind: 'complete' | 'wait' }>
  | { readonly kind: 'plan' }
  | { readonly kind: 'complete'; readonly plan: KeptPlan }
  | { readonly kind: 'wait'; readonly atMost?: number };

/** In milliseconds: how often an adapter that does not answer is asked again. */
const askAgain = 30_000;

export function runOperation(operation: AppOperation, scene: Scene, { isPaused }: { readonly isPaused: boolean }): Run {
  const { status } = operation;
  const time = formatTime(new Date(scene.now));
  if (status?.state === 'needs_intervention' && !operation.spec.cancelled) return { kind: 'wait' };
  if (status?.steps === undefined) {
    if (operation.spec.cancelled && operation.spec.type !== 'decommission')
      return {
        kind: 'report',
        status: { ...status, state: 'cancelled', startedAt: status?.startedAt ?? time, finishedAt: time, message: 'was cancelled' },
      };
    const retryAt = status?.nextRetryAt === undefined ? 0 : Date.parse(status.nextRetryAt);
    if (retryAt > scene.now) return { kind: 'wait', atMost: retryAt - scene.now };
  }
  const plan = scene.plan(operation.metadata.uid ?? '');
  if (plan.kind === 'unasked') return { kind: 'plan' };
  if (plan.kind === 'problem') return withoutPlan(operation, plan, scene.now);
  const steps = firstWindow(plan.value, status?.steps);
  if (steps !== undefined)
    return {
      kind: 'report',
      status: {
        ...withoutTrouble(status),
        state: 'processing',
        startedAt: status?.startedAt ?? time,
        progress: progressOf(plan.value, steps),
        steps,
      },
    };
  const next = advance({
    now: scene.now,
    operation,
    plan: plan.value,
    isPaused,
    place: (member) => placeOf(member, scene),
    task: scene.task,
    absent: scene.absent,
    output: scene.output,
    kept: scene.kept,
    facts: scene.facts,
  });
  return next.kind === 'complete' ? { kind: 'complete', plan: plan.value } : next;
}

/** An adapter that cannot be asked is asked again; one that refuses has refused. */
function withoutPlan(
  { status }: AppOperation,
  { problem, isUnavailable }: Extract<Asked<KeptPlan>, { kind: 'problem' }>,
  now: number,
): Run {
  const time = formatTime(new Date(now));
  const errors: AppError[] = [{ ...problem, time }];
  const rest = { ...withoutTrouble(status), startedAt: status?.startedAt ?? time, message: problem.message, errors };
  if (!isUnavailable) return { kind: 'report', status: { ...rest, state: 'failed', finishedAt: time } };
  return { kind: 'report', status: { ...rest, state: 'retrying', nextRetryAt: formatTime(new Date(now + askAgain)) } };
}

function withoutTrouble(status: AppOperationStatus = {}): AppOperationStatus {
  const { message: _m, errors: _e, nextRetryAt: _n, ...rest } = status;
  return rest;
}

/** Whether the instance may do something on the node of a member now: at every step, since allocations end when their owner wants. */
export function placeOf(name: string, { members, useOf, node }: Pick<Scene, 'members' | 'useOf' | 'node'>): Place {
  const member = members.find(({ metadata }) => metadata.name === name);
  if (member === undefined) return { kind: 'gone', node: '', code: 'NoMember', message: `there is no member ${name} any more` };
  const { allocation, node: nodeName } = member.spec;
  const use = useOf(allocation);
  if (use.kind === 'usable' && use.node === nodeName) {
    const state = nodeStateOf(node(nodeName));
    if (state.kind === 'lost') return { kind: 'gone', node: nodeName, code: 'NodeLost', message: `the node ${nodeName} is lost` };
    return { kind: state.kind, node: nodeName };
  }
  const why = use.kind === 'usable' ? `it has the node ${use.node} now` : use.message;
  return {
    kind: 'gone',
    node: nodeName,
    code: 'AllocationLost',
    message: `the Allocation ${allocation} no longer gives the node ${nodeName} to the instance: ${why}`,
  };
}
