import { type AppMember, type AppOperation, type AppOperationStatus, appPreviewAnnotation } from '@capstan/api';
import { hasFinalizer, isDeleting } from '@capstan/controller';
import { formatTime, sameJson } from '@capstan/machinery';
import { nextLook } from '../health/looking.ts';
import { observedMembers, withObservation } from '../health/observed.ts';
import { expiredMembers, nextExpiry, withoutExpired } from '../health/reports.ts';
import { isOwnName, nextOperationName, wantedOperation } from '../operations/beginning.ts';
import { nextControl } from '../operations/controls.ts';
import { recordLabel } from '../operations/labels.ts';
import { repairInstead } from '../operations/repairs.ts';
import { admit } from '../operations/requests.ts';
import { runOperation } from '../operations/running.ts';
import { currentOperation, fulfillingTypes, isFinal, lastOperation, nextSequence, ownTypes } from '../operations/types.ts';
import { shownSteps } from '../operations/window.ts';
import { actionsOf, type Situation } from '../status/actions.ts';
import { instanceStatus } from '../status/instance-status.ts';
import { memberStatus } from '../status/member-status.ts';
import { completion } from './completion.ts';
import { leftovers } from './leftovers.ts';
import { remove } from './removing.ts';
import type { Scene } from './scene.ts';
import { situationOf } from './situation.ts';
import { appFinalizer, type Step } from './step.ts';
import type { Target } from './targets.ts';
import { isTouched, isWanted, type View, viewOf } from './view.ts';

type Wait = Extract<Step, { readonly kind: 'wait' }>;

/** In milliseconds: how long a preview lives, and how often somebody who does not answer is asked again. */
const previewLife = 300_000;
const askAgain = 30_000;

/** Decides the next step from the objects alone. A crash between two steps leaves nothing behind that the next decision does not see. */
export function decide(scene: Scene): Step {
  const { instance, operations, now } = scene;
  const isPreview = instance.metadata.annotations?.[appPreviewAnnotation] !== undefined;
  if (isDeleting(instance) && !hasFinalizer(instance, appFinalizer)) return { kind: 'wait' };
  if (!isPreview && !hasFinalizer(instance, appFinalizer)) return { kind: 'protect' };
  const strangers = operations.filter(
    ({ metadata }) => metadata.ownerReferences === undefined && metadata.labels?.[recordLabel] === undefined,
  );
  if (strangers.length > 0) return { kind: 'adopt', operations: strangers };
  if (operations.some(({ metadata }) => metadata.name === nextOperationName(instance)))
    return { kind: 'status', status: { ...instance.status, operations: (instance.status?.operations ?? 0) + 1 } };
  const situation = situationOf(scene);
  const control = nextControl(situation, now);
  if (control?.kind === 'report') return { kind: 'operationStatus', operation: control.operation, status: control.status };
  if (control?.kind === 'cancel') return { kind: 'cancelOperation', operation: control.operation };
  if (control?.kind === 'acknowledge') return acknowledged(scene, control.member);
  const preview = operations.find((one) => one.spec.dryRun && !isFinal(one));
  const view = isDeleting(instance) && preview === undefined ? undefined : viewOf(scene);
  if (view?.kind === 'ask') return { kind: 'askMembers' };
  const shown = preview && showPlan(preview, scene, situation);
  if (shown !== undefined) return shown;
  if (view === undefined || isDeleting(instance)) return remove(scene, situation);
  if (isPreview) {
    const age = now - Date.parse(instance.metadata.creationTimestamp ?? formatTime(new Date(now)));
    return age >= previewLife ? { kind: 'deleteInstance' } : rest(scene, view, { situation, atMost: previewLife - age });
  }
  return work(scene, view, situation);
}

function acknowledged({ members }: Scene, name: string | undefined): Step {
  const member = members.find(({ metadata }) => metadata.name === name)!;
  const { lastErrors: _, ...status } = member.status ?? {};
  return { kind: 'memberStatus', writes: [{ member, status }] };
}

/** An operation that only plans. It needs no turn. */
function showPlan(operation: AppOperation, scene: Scene, situation: Situation): Step | undefined {
  const admission = admit(operation, situation, scene.now);
  const report = (status: AppOperationStatus): Step => ({ kind: 'operationStatus', operation, status });
  if (admission.kind === 'refused') return report(admission.status);
  const plan = scene.plan(operation.metadata.uid ?? '');
  if (plan.kind === 'unasked') return { kind: 'plan', operation };
  const time = formatTime(new Date(scene.now));
  const ended = { startedAt: time, finishedAt: time };
  if (plan.kind === 'problem')
    return report({ ...ended, state: 'failed', message: plan.problem.message, errors: [{ ...plan.problem, time }] });
  const { skipSteps = 0 } = operation.spec;
  const steps = shownSteps(plan.value, skipSteps);
  const all = plan.value.steps.length;
  const shown =
    steps.length === all ? 'this is the plan' : `these are ${steps.length} of the ${all} steps of the plan, after the first ${skipSteps}`;
  return report({
    ...ended,
    state: 'succeeded',
    message: `${shown}; nothing was done`,
    steps,
    progress: { completed: 0, total: all },
  });
}

function work(scene: Scene, view: Exclude<View, { kind: 'ask' }>, situation: Situation): Step {
  const current = currentOperation(scene.operations);
  const next = current === undefined ? idle(scene, view) : run(current, scene, { view, situation });
  if (next !== undefined && next.kind !== 'wait') return next;
  return rest(scene, view, { situation, atMost: next?.atMost });
}

const targetsOf = (view: View): readonly Target[] | undefined =>
  view.kind === 'clear' || view.kind === 'waiting' ? view.targets : undefined;

/** Without a clear wish nobody knows better than to keep those that are there. */
function wantedBy(view: View): (member: AppMember) => boolean {
  const targets = view.kind === 'clear' ? targetsOf(view) : undefined;
  return (member) => (targets === undefined ? member.status?.joined === true : isWanted(member, targets));
}

interface Running {
  readonly view: Exclude<View, { kind: 'ask' }>;
  readonly situation: Situation;
}

/** The operation that runs, or is the next. */
function run(operation: AppOperation, scene: Scene, { view, situation }: Running): Step | undefined {
  const report = (status: AppOperationStatus): Step => ({ kind: 'operationStatus', operation, status });
  const { state, steps = [], revision } = operation.status ?? {};
  if (state === undefined || state === 'pending') {
    const first = begun(operation, scene, { view, situation });
    return first === undefined ? undefined : report(first);
  }
  const repaired = repairInstead(operation, situation, scene.now);
  if (repaired !== undefined) return { kind: 'operationStatus', ...repaired };
  const isIdle = !steps.some((step) => step.state === 'running');
  const isOutdated = fulfillingTypes.has(operation.spec.type) && view.kind === 'clear' && revision !== view.revision;
  if (isOutdated && isIdle && !operation.spec.cancelled) return { kind: 'cancelOperation', operation };
  const next = runOperation(operation, scene, { isPaused: scene.instance.spec.paused });
  switch (next.kind) {
    case 'report':
      return report(next.status);
    case 'plan':
      return { kind: 'plan', operation };
    case 'start':
      return { kind: 'start', operation, starts: next.starts };
    case 'cancel':
      return { kind: 'cancelTasks', tasks: next.tasks };
    case 'complete':
      return completion(scene, { operation, plan: next.plan, isWanted: wantedBy(view) });
    default:
      return next;
  }
}

/** The first status of an operation: it begins, waits, or is refused. Undefined if it waits already. */
function begun(operation: AppOperation, scene: Scene, { view, situation }: Running): AppOperationStatus | undefined {
  const { instance, now } = scene;
  const time = formatTime(new Date(now));
  const { spec, status } = operation;
  if (spec.cancelled) return { ...status, state: 'cancelled', startedAt: time, finishedAt: time, message: 'was cancelled' };
  const waits = (message: string): AppOperationStatus | undefined =>
    status?.state === 'pending' && status.message === message ? undefined : { ...status, state: 'pending', message };
  const sequence = nextSequence(scene.operations);
  const begins = { state: 'processing' as const, startedAt: time, sequence, observedGeneration: instance.metadata.generation ?? 0 };
  if (ownTypes.has(spec.type)) {
    const isForeign = !isOwnName(instance, operation);
    const refused = isForeign ? admit(operation, situation, now) : undefined;
    if (refused?.kind === 'refused') return refused.status;
    if (instance.spec.paused) return waits('waits, as the instance is paused');
    if (view.kind !== 'clear') return waits(view.kind === 'problem' ? view.problem.message : view.message);
    const wanted = wantedOperation({ ...scene, operations: scene.operations.filter((one) => one !== operation) }, view);
    if (wanted?.type === spec.type) return { ...begins, ...(wanted.revision !== undefined && { revision: wanted.revision }) };
    return { state: 'cancelled', startedAt: time, finishedAt: time, message: 'nothing of the wish asks for it' };
  }
  const others = { ...situation, operations: situation.operations.filter((one) => one !== operation) };
  const admission = admit(operation, others, now);
  if (admission.kind === 'refused') return admission.status;
  return admission.kind === 'waits' ? waits(admission.message) : begins;
}

/** No operation runs: members follow the wish, and an operation begins if there is something to do. */
function idle(scene: Scene, view: Exclude<View, { kind: 'ask' }>): Step | undefined {
  const removed = scene.members.filter(({ status }) => status?.state === 'removed');
  if (removed.length > 0) return { kind: 'deleteMembers', members: removed };
  if (view.kind === 'problem') return view.isUnavailable ? { kind: 'wait', atMost: askAgain } : undefined;
  if (view.kind !== 'clear' || scene.instance.spec.paused) return undefined;
  const unused = scene.members.filter((member) => !isWanted(member, view.targets) && !isTouched(member));
  if (unused.length > 0) return { kind: 'deleteMembers', members: unused };
  const missing = view.targets.filter(({ name }) => !scene.members.some(({ metadata }) => metadata.name === name));
  if (missing.length > 0) return { kind: 'createMembers', targets: missing };
  const beginning = wantedOperation(scene, view);
  return beginning && { kind: 'begin', name: nextOperationName(scene.instance), beginning };
}

/** Looks at the health, reports everything, and waits. */
function rest(
  scene: Scene,
  view: View,
  { situation, atMost }: { readonly situation: Situation; readonly atMost?: number | undefined },
): Step {
  const look = nextLook(scene);
  if (look.kind !== 'wait') return look;
  const { observation, instance, operations } = scene;
  const expired = expiredMembers(scene);
  if (expired.length > 0) return { kind: 'memberStatus', writes: expired };
  const last = lastOperation(operations);
  const isMemberWanted = wantedBy(view);
  const told = scene.members
    .map((member) => ({ member, status: memberStatus(member, last, isMemberWanted(member)) }))
    .filter(({ member, status }) => !sameJson(status, member.status ?? {}));
  if (told.length > 0) return { kind: 'memberStatus', writes: told };
  if (observation.kind === 'answer') {
    const writes = observedMembers(scene, observation.value);
    if (writes.length > 0) return { kind: 'memberStatus', writes };
  }
  const isDeployed = instance.status?.revision !== undefined;
  const isAccessOld = instance.status?.access === undefined || observation.kind === 'answer';
  if (isDeployed && isAccessOld && scene.access.kind === 'unasked') return { kind: 'askAccess' };
  const seen =
    observation.kind === 'answer'
      ? { ...scene, instance: { ...instance, status: withObservation(instance.status ?? {}, scene, observation.value) } }
      : scene;
  const status = withoutExpired(instanceStatus(seen, view, actionsOf(situation)), scene.now);
  if (!sameJson(status, instance.status)) return { kind: 'status', status };
  const old = leftovers(scene);
  if (old !== undefined) return old;
  const waits = [atMost, look.atMost, nextExpiry(scene)].filter((one) => one !== undefined);
  const wait: Wait = { kind: 'wait', ...(waits.length > 0 && { atMost: Math.min(...waits) }) };
  return wait;
}
