import type { AppInstanceStatus, AppMember, AppOperation, AppResidue } from '@capstan/api';
import { formatTime, sameJson } from '@capstan/machinery';
import type { KeptPlan } from '../operations/scene.ts';
import { fulfillingTypes } from '../operations/types.ts';
import { settledStatus } from '../status/member-status.ts';
import type { Scene } from './scene.ts';
import type { Step } from './step.ts';

interface Completed {
  readonly operation: AppOperation;
  readonly plan: KeptPlan;
  readonly isWanted: (member: AppMember) => boolean;
}

/** Records what a completed operation has achieved, in its members, then in the instance, and last in itself: a crash in between repeats the rest. */
export function completion(scene: Scene, { operation, plan, isWanted }: Completed): Step {
  const meanings = new Map(plan.steps.map(({ id, onFailure }) => [id, onFailure]));
  const degraded = new Set(
    (operation.status?.steps ?? [])
      .filter(({ id, state }) => state === 'failed' && meanings.get(id) === 'degrade')
      .map(({ member }) => member),
  );
  const taking = new Set(plan.steps.map(({ member }) => member));
  const writes = scene.members.flatMap((member) => {
    const { name = '' } = member.metadata;
    const status = settledStatus(member, operation, {
      takesPart: taking.has(name),
      joins: plan.joins?.includes(name) === true,
      leaves: plan.leaves?.includes(name) === true,
      isDegraded: degraded.has(name),
      isWanted: isWanted(member),
    });
    return sameJson(status, member.status ?? {}) ? [] : [{ member, status }];
  });
  if (writes.length > 0) return { kind: 'memberStatus', writes };
  const residues = residuesOf(scene, operation, plan);
  const status = fulfilled(scene, { operation, plan, residues });
  if (!sameJson(status, scene.instance.status)) return { kind: 'status', status };
  const { nextRetryAt: _n, message: _m, step: _s, attempts: _a, attemptLimit: _l, ...rest } = operation.status ?? {};
  const failed = rest.errors?.length ?? 0;
  return {
    kind: 'operationStatus',
    operation,
    status: {
      ...rest,
      state: 'succeeded',
      ...(failed > 0 && { message: `succeeded, with ${failed} ${failed === 1 ? 'problem' : 'problems'}` }),
      ...(residues.length > 0 && { residues }),
      finishedAt: formatTime(new Date(scene.now)),
    },
  };
}

interface Fulfilled {
  readonly operation: AppOperation;
  readonly plan: KeptPlan;
  readonly residues: readonly AppResidue[];
}

function fulfilled({ instance }: Scene, { operation, plan, residues }: Fulfilled): AppInstanceStatus {
  const { status = {} } = instance;
  const { type } = operation.spec;
  const { revision } = operation.status ?? {};
  // Residues of earlier removals stay, except those of members that are a part of the instance again.
  const before = (status.residues ?? []).filter(
    ({ member }) => plan.joins?.includes(member) !== true && !residues.some((one) => one.member === member),
  );
  const { residues: _, ...kept } = status;
  return {
    ...kept,
    phase: plan.phase,
    ...(fulfillingTypes.has(type) && revision !== undefined && { revision, version: plan.version, stopped: false }),
    ...((type === 'start' || type === 'stop') && { stopped: type === 'stop' }),
    ...(before.length + residues.length > 0 && { residues: [...before, ...residues].slice(0, 256) }),
  };
}

/** The findings of steps that report what they could not remove, and everything of members whose node is gone. */
function residuesOf(scene: Scene, operation: AppOperation, plan: KeptPlan): AppResidue[] {
  const reporting = new Set(plan.steps.filter(({ reportsResidue }) => reportsResidue === true).map(({ id }) => id));
  const conditional = new Set(plan.steps.filter(({ when }) => when !== undefined).map(({ id }) => id));
  const found = (operation.status?.steps ?? []).flatMap((step): AppResidue[] => {
    const member = scene.members.find(({ metadata }) => metadata.name === step.member);
    if (member === undefined) return [];
    const { node } = member.spec;
    const name = step.member ?? '';
    const task = step.task === undefined ? undefined : scene.task(node, step.task);
    if (reporting.has(step.id) && step.state === 'succeeded')
      return (task?.status?.report ?? []).map((one) => ({ member: name, node, ...one }));
    // A step for another kind of node was never needed.
    const isOptional = step.state === 'skipped' && conditional.has(step.id);
    if (!plan.leaves?.includes(name) || step.state === 'succeeded' || isOptional) return [];
    const findings = reporting.has(step.id) ? (task?.status?.report ?? []).map((one) => ({ member: name, node, ...one })) : [];
    return [...findings, { member: name, node, name: step.id, message: `${step.title}: ${step.message ?? step.state}`.slice(0, 1024) }];
  });
  return (operation.status?.residues as AppResidue[] | undefined) ?? found.slice(0, 256);
}
