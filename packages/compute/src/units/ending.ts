import { type GPUUnit, millisecondsIn, type NodeUnit } from '@capstan/api';
import { findCondition } from '@capstan/controller';
import { isChanged } from './program.ts';
import { allocationOf, type Place, type Scene } from './scene.ts';

/** Why the current start ends, or has ended. */
export type Cause =
  | 'Deleted'
  | 'Stopped'
  | 'Changed'
  | 'TimeLimit'
  | 'Idle'
  | 'AllocationDeleted'
  | 'NodeLost'
  /** Nobody knows how it ended, such as after a restart of the machine. */
  | 'Lost'
  | 'Failed'
  | 'Completed';

const asked: ReadonlySet<string> = new Set(['Stopped', 'TimeLimit', 'Idle']);

/** Why the current start has to end; undefined if it may go on. Every cause can be found again from the objects after a crash. */
export function causeOf(scene: Scene, places: readonly Place[]): Cause | undefined {
  const { unit } = scene;
  if (unit.metadata.deletionTimestamp !== undefined) return 'Deleted';
  const reasons = new Set(places.flatMap(({ nodeUnit }) => (nodeUnit?.spec.stopped ? (nodeUnit.spec.stopReason ?? 'Stopped') : [])));
  const limit = (['TimeLimit', 'Idle'] as const).find((reason) => reasons.has(reason));
  if (limit !== undefined) return limit;
  if (!unit.spec.running) return 'Stopped';
  if (isChanged(unit)) return 'Changed';
  if (places.length === 0) return undefined;
  return (
    ended(places) ??
    withoutAllocation(scene, places) ??
    limitReached(scene, places)?.reason ??
    (reasons.has('Stopped') ? 'Stopped' : undefined)
  );
}

function ended(places: readonly Place[]): Cause | undefined {
  const failed = firstFailure(places);
  if (failed?.status?.reason === 'Fenced') return 'NodeLost';
  if (failed !== undefined) return failed.status?.phase === 'Lost' ? 'Lost' : 'Failed';
  if (places.some(({ isFinal, isOver, nodeUnit, state }) => !isFinal && isOver && (nodeUnit !== undefined || state.kind === 'lost')))
    return 'NodeLost';
  return places.every(({ isFinal }) => isFinal) && places.every(({ nodeUnit }) => isSuccess(nodeUnit!)) ? 'Completed' : undefined;
}

/** The first program that ended although nobody wanted it to. */
export function firstFailure(places: readonly Place[]): NodeUnit | undefined {
  const failed = places.flatMap(({ isFinal, nodeUnit }) =>
    isFinal && !isSuccess(nodeUnit!) && !asked.has(nodeUnit!.status?.reason ?? '') ? [nodeUnit!] : [],
  );
  return failed.toSorted((one, other) => finishedAt(one) - finishedAt(other))[0];
}

function isSuccess({ status }: NodeUnit): boolean {
  return status?.phase === 'Ended' && (status.reason === undefined || status.reason === 'Completed') && (status.exitCode ?? 0) === 0;
}

const finishedAt = ({ status }: NodeUnit): number => Date.parse(status?.finishedAt ?? '') || Number.POSITIVE_INFINITY;

/** Nothing may run without its booking, whoever deleted the allocation. */
function withoutAllocation(scene: Scene, places: readonly Place[]): Cause | undefined {
  const allocation = allocationOf(scene);
  const isGone =
    allocation === undefined ||
    allocation.metadata.deletionTimestamp !== undefined ||
    places.some(({ nodeUnit }) => nodeUnit !== undefined && nodeUnit.spec.allocation !== allocation.metadata.uid);
  return isGone ? 'AllocationDeleted' : undefined;
}

/** The limit that was reached, or how long until the next one is, in milliseconds. */
export function limitReached(scene: Scene, places: readonly Place[]): { readonly reason: 'TimeLimit' | 'Idle' } | undefined {
  return nextLimits(scene, places).find(({ left }) => left <= 0);
}

export function nextLimits(
  { unit, now }: Scene,
  places: readonly Place[],
): { readonly reason: 'TimeLimit' | 'Idle'; readonly left: number }[] {
  const { maxDuration, idleTimeout } = unit.spec;
  const found: { reason: 'TimeLimit' | 'Idle'; left: number }[] = [];
  const started = startOf(unit);
  if (maxDuration !== undefined && started !== undefined)
    found.push({ reason: 'TimeLimit', left: started + millisecondsIn(maxDuration) - now });
  const idle = places.map(({ nodeUnit }) => Date.parse(nodeUnit?.status?.idleSince ?? ''));
  // Only programs that run on all nodes can be idle, and the last to become so counts.
  if (idleTimeout !== undefined && idle.length > 0 && idle.every((one) => !Number.isNaN(one)))
    found.push({ reason: 'Idle', left: Math.max(...idle) + millisecondsIn(idleTimeout) - now });
  return found;
}

/** When the program of the current start first ran. Restarts by its policy do not count. */
function startOf({ status }: GPUUnit): number | undefined {
  const started = findCondition(status?.conditions, 'Started');
  return started?.status === 'True' ? Date.parse(started.lastTransitionTime) : undefined;
}
