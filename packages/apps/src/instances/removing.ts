import type { AppOperationStatus, AppResidue } from '@capstan/api';
import { formatTime, sameJson } from '@capstan/machinery';
import { nextOperationName } from '../operations/beginning.ts';
import { placeOf, runOperation } from '../operations/running.ts';
import { isFinal, isWork, nextSequence } from '../operations/types.ts';
import { finishedMembers } from '../operations/window.ts';
import { actionsOf, type Situation } from '../status/actions.ts';
import { instanceStatus } from '../status/instance-status.ts';
import { memberStatus } from '../status/member-status.ts';
import { completion } from './completion.ts';
import type { Scene } from './scene.ts';
import { removalOf } from './situation.ts';
import type { Step } from './step.ts';
import { isTouched } from './view.ts';

/** Ends everything of an instance that is being deleted: other operations first, then the steps of its adapter, then our own objects. */
export function remove(scene: Scene, situation: Situation): Step {
  const { operations, members } = scene;
  const other = operations.find((one) => isWork(one) && !isFinal(one) && one.spec.type !== 'decommission');
  if (other !== undefined) {
    if (!other.spec.cancelled) return { kind: 'cancelOperation', operation: other };
    const run = runOperation(other, scene, { isPaused: false });
    if (run.kind === 'report') return { kind: 'operationStatus', operation: other, status: run.status };
    if (run.kind === 'plan' || run.kind === 'start')
      return { kind: 'operationStatus', operation: other, status: cancelledStatus(other.status, scene.now) };
    if (run.kind === 'complete') return { kind: 'operationStatus', operation: other, status: cancelledStatus(other.status, scene.now) };
    if (run.kind === 'wait') return report(scene, situation, run.atMost);
    return run.kind === 'cancel' ? { kind: 'cancelTasks', tasks: run.tasks } : run;
  }
  const removal = removalOf(operations);
  if (removal === undefined) {
    if (!members.some(isTouched)) return cleanUp(scene);
    return { kind: 'begin', name: nextOperationName(scene.instance), beginning: { type: 'decommission' } };
  }
  const { state } = removal.status ?? {};
  if (state === 'succeeded') return cleanUp(scene);
  // Only a removal that was ended by force has failed and names what is left.
  const isForced = state === 'failed' && removal.status?.residues !== undefined;
  if (isForced) return cleanUp(scene);
  if (operations.some(({ spec, status }) => spec.type === 'force-delete' && status?.state === 'succeeded')) {
    const isPartlyShown = (removal.status?.progress?.total ?? 0) > (removal.status?.steps ?? []).length;
    const plan = scene.plan(removal.metadata.uid ?? '');
    if (isPartlyShown && plan.kind === 'unasked') return { kind: 'plan', operation: removal };
    const finished = plan.kind === 'answer' ? finishedMembers(plan.value, removal.status?.steps ?? []) : new Set<string>();
    return { kind: 'operationStatus', operation: removal, status: forcedStatus(scene, removal.status, finished) };
  }
  if (state === 'failed' || state === 'cancelled') return report(scene, situation, undefined);
  if (state === undefined) {
    const begins = { state: 'processing' as const, startedAt: formatTime(new Date(scene.now)), sequence: nextSequence(operations) };
    return { kind: 'operationStatus', operation: removal, status: begins };
  }
  const run = runOperation(removal, scene, { isPaused: false });
  switch (run.kind) {
    case 'report':
      return { kind: 'operationStatus', operation: removal, status: run.status };
    case 'plan':
      return { kind: 'plan', operation: removal };
    case 'start':
      return { kind: 'start', operation: removal, starts: run.starts };
    case 'cancel':
      return { kind: 'cancelTasks', tasks: run.tasks };
    case 'complete':
      return completion(scene, { operation: removal, plan: run.plan, isWanted: () => false });
    case 'wait':
      return report(scene, situation, run.atMost);
    default:
      return run;
  }
}

function cancelledStatus(status: AppOperationStatus | undefined, now: number): AppOperationStatus {
  const time = formatTime(new Date(now));
  return {
    ...status,
    state: 'cancelled',
    message: 'was cancelled, as the instance is being deleted',
    startedAt: status?.startedAt ?? time,
    finishedAt: time,
  };
}

/** The statuses of members and of the instance, then nothing until something changes. */
function report(scene: Scene, situation: Situation, atMost: number | undefined): Step {
  const removal = removalOf(scene.operations);
  const writes = scene.members
    .map((member) => ({ member, status: memberStatus(member, removal, false) }))
    .filter(({ member, status }) => !sameJson(status, member.status));
  if (writes.length > 0) return { kind: 'memberStatus', writes };
  const status = instanceStatus(scene, { kind: 'waiting', message: '', targets: [] }, actionsOf(situation));
  if (!sameJson(status, scene.instance.status)) return { kind: 'status', status };
  return { kind: 'wait', ...(atMost !== undefined && { atMost }) };
}

/** Whatever is left of members whose steps were not done is named, since nobody looks for it any more. */
function forcedStatus(scene: Scene, status: AppOperationStatus = {}, finished: ReadonlySet<string> = new Set()): AppOperationStatus {
  const done = new Set((status.steps ?? []).filter(({ state }) => state === 'succeeded').map(({ member }) => member));
  const open = new Set((status.steps ?? []).filter(({ state }) => state !== 'succeeded').map(({ member }) => member));
  const left = scene.members.filter((member) => {
    const { name = '' } = member.metadata;
    return isTouched(member) && !finished.has(name) && (open.has(name) || !done.has(name));
  });
  const residues: AppResidue[] = left.map(({ metadata, spec }) => {
    const place = placeOf(metadata.name ?? '', scene);
    const why =
      place.kind === 'silent'
        ? `the node ${spec.node} is silent`
        : place.kind === 'gone'
          ? place.message
          : 'the steps of its removal have not succeeded';
    return { member: metadata.name ?? '', node: spec.node, name: 'everything', message: `may be left, as ${why}`.slice(0, 1024) };
  });
  const { nextRetryAt: _, ...rest } = status;
  const time = formatTime(new Date(scene.now));
  return {
    ...rest,
    state: 'failed',
    message: 'was ended by force',
    startedAt: status.startedAt ?? time,
    finishedAt: status.finishedAt ?? time,
    residues,
  };
}

/** Our own objects, the secrets last but one: a crash finds them again as long as the instance is there. */
function cleanUp(scene: Scene): Step {
  const { members, tasks, operations, instance } = scene;
  const residues = removalOf(operations)?.status?.residues ?? [];
  if (!sameJson(residues, instance.status?.residues ?? []) && residues.length > 0)
    return { kind: 'status', status: { ...instance.status, residues } };
  if (tasks.length > 0) return { kind: 'deleteTasks', tasks };
  if (members.length > 0) return { kind: 'deleteMembers', members };
  if (!scene.isForgotten) return { kind: 'forget' };
  // A removal that left something stays as the record of it.
  const records = operations.filter((one) => one.spec.type !== 'decommission' || (one.status?.residues ?? []).length === 0);
  if (records.length > 0) return { kind: 'deleteOperations', operations: records };
  return { kind: 'letGo' };
}
