import type { AppError, AppHealth, AppInstanceStatus, AppMember, AppOperation } from '@capstan/api';
import { findCondition, isDeleting, setCondition } from '@capstan/controller';
import { formatTime } from '@capstan/machinery';
import type { Scene } from '../instances/scene.ts';
import type { View } from '../instances/view.ts';
import { currentOperation, isFinal, lastOperation, ownTypes, workTypes } from '../operations/types.ts';
import type { Actions } from './actions.ts';
import { lastOperationOf } from './member-status.ts';

const mostErrors = 32;

/** The whole status of an instance, from the objects alone. Facts that only an operation or a look at the nodes knows are carried over. */
export function instanceStatus(scene: Scene, view: View, actions: Actions): AppInstanceStatus {
  const { instance, members, operations, now } = scene;
  const { metadata, spec, status = {} } = instance;
  const last = lastOperation(operations);
  const current = currentOperation(operations);
  const state = stateOf(scene, last);
  const health = healthOf({ scene, view, state, last, current });
  const message = messageOf({ scene, view, state, current: current ?? last });
  const errors = errorsOf(scene, view, last);
  const phase = (current && phaseOf(current)) ?? status.phase;
  const ready = state === 'running' && (health === 'healthy' || health === 'degraded' || health === 'progressing');
  const condition = {
    type: 'Ready',
    status: ready ? 'True' : 'False',
    reason: ready ? 'Usable' : reasonOf(state),
    message: (message ?? '').slice(0, 32_768),
    observedGeneration: metadata.generation ?? 0,
  } as const;
  const { message: _m, lastErrors: _e, progress: _p, lastOperation: _l, ...kept } = status;
  return {
    ...kept,
    observedGeneration: metadata.generation ?? 0,
    ...(phase !== undefined && { phase }),
    state,
    health,
    ...(message !== undefined && { message: message.slice(0, 4096) }),
    ...(last?.status?.progress && { progress: last.status.progress }),
    ...(last && { lastOperation: lastOperationOf(last) }),
    ...(errors.length > 0 && { lastErrors: errors }),
    constraints: [...(spec.paused ? [pausedConstraint] : []), ...actions.constraints].slice(0, 64),
    allowedActions: [...actions.allowed],
    members: { total: members.length, healthy: members.filter((one) => one.status?.health === 'healthy').length },
    ...accessOf(scene),
    conditions: setCondition(status.conditions, condition, new Date(now)),
  };
}

function accessOf({ access, instance }: Scene): Pick<AppInstanceStatus, 'access'> {
  if (access.kind !== 'answer') return instance.status?.access === undefined ? {} : { access: instance.status.access };
  const { endpoints, notes, kubernetes, shell } = access.value;
  return {
    access: {
      ...(endpoints && { endpoints }),
      kubeconfig: kubernetes !== undefined,
      ...(kubernetes !== undefined && { kubernetes: kubernetes.member }),
      ...(shell !== undefined && { shell }),
      ...(notes && { notes }),
    },
  };
}

const pausedConstraint = {
  action: 'change',
  reason: 'Paused',
  message: 'the instance is paused: nothing of it is changed until spec.paused is false',
};

type State = NonNullable<AppInstanceStatus['state']>;

function stateOf({ instance }: Scene, last: AppOperation | undefined): State {
  if (isDeleting(instance)) return 'removing';
  if (instance.status?.revision !== undefined) return instance.status.stopped === true ? 'stopped' : 'running';
  if (last === undefined) return 'pending';
  const { state } = last.status ?? {};
  return state === 'failed' || state === 'cancelled' ? 'failed' : 'deploying';
}

const reasonOf = (state: State): string => `${state[0]!.toUpperCase()}${state.slice(1)}`;

interface HealthFacts {
  readonly scene: Scene;
  readonly view: View;
  readonly state: State;
  readonly last: AppOperation | undefined;
  readonly current: AppOperation | undefined;
}

function healthOf({ scene, view, state, last, current }: HealthFacts): AppHealth {
  const hasFailed = last?.status?.state === 'failed' || last?.status?.state === 'needs_intervention';
  switch (state) {
    case 'removing':
      return hasFailed ? 'failed' : 'progressing';
    case 'pending':
      return view.kind === 'problem' && !view.isUnavailable ? 'failed' : 'progressing';
    case 'failed':
      return 'failed';
    case 'deploying':
      return hasFailed ? 'failed' : 'progressing';
    case 'stopped':
      return 'unknown';
    case 'running':
      return runningHealth({ scene, hasFailed: leavesUndone(scene, last), isBusy: current !== undefined && !isFinal(current) });
  }
}

/**
 * A change that has failed leaves the instance other than it is wished, and one that waits for a person is not over. After any other failure, such as that of a snapshot, an instance is
 * as healthy as it looks, if somebody looks at it.
 */
function leavesUndone({ instance }: Scene, last: AppOperation | undefined): boolean {
  const { state } = last?.status ?? {};
  if (last === undefined || state !== 'failed') return state === 'needs_intervention';
  if (ownTypes.has(last.spec.type)) return true;
  return workTypes.has(last.spec.type) && findCondition(instance.status?.conditions, 'Healthy') === undefined;
}

interface RunningFacts {
  readonly scene: Scene;
  /** Whether the last operation has failed, and leaves something undone that cannot be seen otherwise. */
  readonly hasFailed: boolean;
  readonly isBusy: boolean;
}

function runningHealth({ scene, hasFailed, isBusy }: RunningFacts): AppHealth {
  const observed = observedHealth(scene);
  if (observed === 'failed' || observed === 'unknown') return observed;
  const isPartial = scene.members.some(({ status }) => status?.state === 'failed');
  if (observed === 'degraded' || hasFailed || isPartial) return 'degraded';
  return isBusy ? 'progressing' : observed;
}

/** The health that was last seen. Members that nobody can look at are taken to be as their last operation left them. */
function observedHealth({ instance, members, probe }: Scene): AppHealth {
  const seen = findCondition(instance.status?.conditions, 'Healthy');
  if (seen !== undefined) return (seen.reason.toLowerCase() as AppHealth) ?? 'unknown';
  return members.some(({ metadata }) => probe(metadata.name ?? '') !== undefined) ? 'progressing' : 'healthy';
}

interface MessageFacts {
  readonly scene: Scene;
  readonly view: View;
  readonly state: State;
  readonly current: AppOperation | undefined;
}

function messageOf({ scene, view, state, current }: MessageFacts): string | undefined {
  const { instance } = scene;
  if (state !== 'removing' && view.kind === 'problem') return view.problem.message;
  if (state !== 'removing' && view.kind === 'waiting') return view.message;
  if (current !== undefined && current.status?.state !== 'succeeded') {
    const { state: progress = 'pending', message, step } = current.status ?? {};
    if (message !== undefined) return message;
    if (step !== undefined && !isFinal(current)) return step;
    return `the operation ${current.spec.type} is ${progress}`;
  }
  if (instance.spec.paused) return 'is paused';
  const seen = findCondition(instance.status?.conditions, 'Healthy');
  return seen === undefined || seen.message === '' || state !== 'running' ? undefined : seen.message;
}

function errorsOf({ instance, members, now }: Scene, view: View, last: AppOperation | undefined): AppError[] {
  const found: AppError[] = [];
  const known = new Set<string>();
  const add = (error: AppError): void => {
    const key = JSON.stringify([error.code, error.member, error.step]);
    if (!known.has(key)) found.push(error);
    known.add(key);
  };
  if (view.kind === 'problem') {
    // A problem that lasts keeps the time at which it was first seen, so that the status does not change by itself.
    const before = instance.status?.lastErrors?.find(({ code, message }) => code === view.problem.code && message === view.problem.message);
    add(before ?? { ...view.problem, time: formatTime(new Date(now)) });
  }
  for (const error of last?.status?.errors ?? []) add(error);
  for (const error of members.flatMap((one: AppMember) => one.status?.lastErrors ?? [])) add(error);
  return found.slice(0, mostErrors);
}

/** The phase of the last step that has begun. */
export function phaseOf({ status }: AppOperation): string | undefined {
  const steps = (status?.steps ?? []).toSorted((one, other) => one.stage - other.stage);
  const begun = steps.filter(({ state, phase }) => state !== 'pending' && phase !== undefined);
  return (steps.find(({ state, phase }) => state === 'running' && phase !== undefined) ?? begun.at(-1))?.phase;
}
