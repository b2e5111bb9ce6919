import type { AppMember, NodeTask } from '@capstan/api';
import { isDeleting } from '@capstan/controller';
import type { Scene } from '../instances/scene.ts';
import { isCurrentProbe } from '../operations/making.ts';
import { outcomeOf } from '../operations/outcome.ts';
import { placeOf } from '../operations/running.ts';
import { probeName } from '../operations/task-names.ts';

/** The next thing to do to know how the members are. */
export type Look =
  | { readonly kind: 'probe'; readonly members: readonly AppMember[]; readonly tasks: readonly NodeTask[] }
  | { readonly kind: 'read'; readonly tasks: readonly NodeTask[] }
  | { readonly kind: 'observe' }
  /** In milliseconds: when to look again. */
  | { readonly kind: 'wait'; readonly atMost?: number };

/** A member that is a part of the instance, with the task that looks at it. */
export interface Probed {
  readonly member: AppMember;
  readonly every: number;
  readonly task: NodeTask | undefined;
  /** Whether its task runs something else than what is wanted by now. */
  readonly isOutdated: boolean;
  readonly isHeard: boolean;
}

export function probedMembers(scene: Scene): Probed[] {
  return scene.members.flatMap((member) => {
    const { name = '', uid = '' } = member.metadata;
    const probe = member.status?.joined === true ? scene.probe(name) : undefined;
    if (probe === undefined) return [];
    const task = scene.task(member.spec.node, probeName(uid));
    const isOutdated = task !== undefined && !isCurrentProbe(task, probe);
    return [{ member, every: probe.every, task, isOutdated, isHeard: placeOf(name, scene).kind === 'heard' }];
  });
}

/** Whether the health of the instance is looked at. */
export function isLookedAt({ instance }: Scene): boolean {
  return !isDeleting(instance) && instance.status?.revision !== undefined && instance.status.stopped !== true;
}

export function nextLook(scene: Scene): Look {
  if (!isLookedAt(scene)) return { kind: 'wait' };
  const probed = probedMembers(scene);
  const heard = probed.filter(({ isHeard }) => isHeard);
  const missing = heard.filter(({ task }) => task === undefined).map(({ member }) => member);
  const due = heard.filter((one) => dueIn(one, scene.now) <= 0).flatMap(({ task }) => task ?? []);
  if (missing.length + due.length > 0) return { kind: 'probe', members: missing, tasks: due };
  const ended = heard.flatMap(({ task }) => (task !== undefined && outcomeOf(task).kind !== 'open' ? [task] : []));
  const unread = ended.filter((task) => scene.output(task).kind === 'unread');
  if (scene.observation.kind === 'unasked' && isDue(scene, probed))
    return unread.length > 0 ? { kind: 'read', tasks: unread } : { kind: 'observe' };
  const waits = heard.map((one) => dueIn(one, scene.now)).filter(Number.isFinite);
  return { kind: 'wait', ...(waits.length > 0 && { atMost: Math.max(250, Math.min(...waits)) }) };
}

/** In milliseconds: when the next attempt of a probe begins. One that runs is not raised, and the answer of an outdated one says nothing. */
function dueIn({ task, every, isOutdated }: Probed, now: number): number {
  if (task === undefined || outcomeOf(task).kind === 'open') return Number.POSITIVE_INFINITY;
  if (isOutdated) return 0;
  return Date.parse(task.status?.finishedAt ?? '') + every - now;
}

/** The time of the newest answer, which `observedAt` of the instance has once it was looked at. */
export function answeredAt(probed: readonly Probed[]): string | undefined {
  return probed
    .flatMap(({ task }) => (task !== undefined && outcomeOf(task).kind !== 'open' ? (task.status?.finishedAt ?? []) : []))
    .sort((one, other) => Date.parse(one) - Date.parse(other))
    .at(-1);
}

/** There is a newer answer, or a node has become silent. */
function isDue({ instance, members }: Scene, probed: readonly Probed[]): boolean {
  const newest = answeredAt(probed);
  if (newest !== undefined && (instance.status?.observedAt === undefined || Date.parse(newest) > Date.parse(instance.status.observedAt)))
    return true;
  return members.some((member) => {
    const one = probed.find(({ member: other }) => other === member);
    return one !== undefined && !one.isHeard && member.status?.health !== 'unknown';
  });
}
