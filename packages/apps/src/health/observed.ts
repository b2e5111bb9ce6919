import type { AppInstanceStatus, AppMember, AppMemberStatus } from '@capstan/api';
import { setCondition } from '@capstan/controller';
import { isObject, sameJson } from '@capstan/machinery';
import type { MemberObservation, Observation } from '../adapter/contract.ts';
import type { Scene } from '../instances/scene.ts';
import { probesBeforeRepair } from '../operations/beginning.ts';
import { outcomeOf } from '../operations/outcome.ts';
import { placeOf } from '../operations/running.ts';
import { currentOperation } from '../operations/types.ts';
import { isBusy } from '../status/member-status.ts';
import { answeredAt, probedMembers } from './looking.ts';

/** In milliseconds: how old the time of the last look at a member may become if nothing about it changes. */
const timeAge = 300_000;

/** The status of members after a look at them. Silence is `unknown`, whatever the adapter thinks. */
export function observedMembers(
  scene: Scene,
  observation: Observation,
): { readonly member: AppMember; readonly status: AppMemberStatus }[] {
  return probedMembers(scene).flatMap(({ member, isHeard, task }) => {
    const { name = '' } = member.metadata;
    const { status = {} } = member;
    const seen = observation.members[name];
    const { health: _h, message: _m, endpoint: _e, detail: _d, repairable: _r, failedProbes: _f, observedAt, ...kept } = status;
    const now = task?.status?.finishedAt;
    const place = placeOf(name, scene);
    const silence = place.kind === 'gone' ? place.message : `the node ${member.spec.node} is silent`;
    const text = isBusy(member, currentOperation(scene.operations)) ? status.message : isHeard ? seen?.message : silence;
    const isOpen = task !== undefined && outcomeOf(task).kind === 'open';
    const failedProbes = failuresInRow(scene, { status, seen, time: now, isOpen });
    const fresh: AppMemberStatus = isHeard
      ? {
          ...kept,
          health: seen?.health ?? 'unknown',
          ...(text !== undefined && { message: text }),
          ...(seen?.endpoint !== undefined && { endpoint: seen.endpoint }),
          ...(isObject(seen?.detail) && { detail: seen.detail }),
          ...(seen?.isRepairable === true && { repairable: true }),
          ...(failedProbes > 0 && { failedProbes }),
        }
      : { ...kept, health: 'unknown', ...(text !== undefined && { message: text }) };
    const isOld = now !== undefined && (observedAt === undefined || Date.parse(now) - Date.parse(observedAt) > timeAge);
    const { observedAt: _o, ...before } = status;
    if (sameJson(before, fresh) && !isOld) return [];
    return [{ member, status: { ...fresh, ...(now !== undefined ? { observedAt: now } : observedAt !== undefined && { observedAt }) } }];
  });
}

interface Look {
  readonly status: AppMemberStatus;
  readonly seen: MemberObservation | undefined;
  /** When the probe ended. */
  readonly time: string | undefined;
  /** Whether the next probe runs, so that the answer is that of the one before. */
  readonly isOpen: boolean;
}

/** Each probe counts once, although members are looked at whenever the probe of one of them ends. Failures during an operation are its own. */
function failuresInRow({ app, operations }: Scene, { status, seen, time, isOpen }: Look): number {
  if (seen?.health !== 'failed' || seen.isRepairable !== true || currentOperation(operations) !== undefined) return 0;
  const { failedProbes = 0, observedAt } = status;
  const isCounted = isOpen || (failedProbes > 0 && time === observedAt);
  return Math.min(probesBeforeRepair(app), failedProbes + (isCounted ? 0 : 1));
}

/** The status of the instance with what was seen. */
export function withObservation(status: AppInstanceStatus, scene: Scene, observation: Observation): AppInstanceStatus {
  const now = new Date(scene.now);
  const { health, message = '', hasDrifted = false, certificatesExpireAt } = observation;
  const generation = { observedGeneration: scene.instance.metadata.generation ?? 0 };
  const probed = probedMembers(scene);
  const isSilent = probed.length > 0 && probed.every(({ isHeard }) => !isHeard);
  const seen = isSilent ? 'unknown' : health;
  const reason = `${seen[0]!.toUpperCase()}${seen.slice(1)}`;
  const isTrue = seen === 'healthy' ? 'True' : seen === 'unknown' ? 'Unknown' : 'False';
  const text = isSilent ? 'the nodes of all members are silent' : message;
  const healthy = setCondition(status.conditions, { type: 'Healthy', status: isTrue, reason, message: text, ...generation }, now);
  const drift = {
    type: 'InSync',
    status: hasDrifted ? 'False' : 'True',
    reason: hasDrifted ? 'Drifted' : 'AsWanted',
    message: hasDrifted ? 'reconcile would change something' : '',
  } as const;
  const { certificatesExpireAt: _, ...kept } = status;
  const observedAt = answeredAt(probed) ?? status.observedAt;
  return {
    ...kept,
    conditions: setCondition(healthy, { ...drift, ...generation }, now),
    ...(observedAt !== undefined && { observedAt }),
    ...(certificatesExpireAt !== undefined && { certificatesExpireAt }),
  };
}
