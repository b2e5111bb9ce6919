import { createHash } from 'node:crypto';
import type { AppMember, AppOperation } from '@capstan/api';
import type { Scene } from '../instances/scene.ts';
import { isWanted, type View } from '../instances/view.ts';
import { automaticAnnotation, begunOperations, fulfillingTypes } from './types.ts';

/** An operation that the platform begins itself. */
export interface Beginning {
  readonly type: string;
  readonly revision?: string;
  readonly member?: string;
  readonly isAutomatic?: boolean;
}

function ownPrefix({ metadata }: Scene['instance']): string {
  const hash = createHash('sha256')
    .update(metadata.uid ?? '')
    .digest('hex')
    .slice(0, 5);
  return `${(metadata.name ?? '').slice(0, 40)}-${hash}-`;
}

/** The name of the next operation that the platform begins: the same for every try to create it. */
export const nextOperationName = (instance: Scene['instance']): string => `${ownPrefix(instance)}${(instance.status?.operations ?? 0) + 1}`;

/** Whether the platform has named the operation. Somebody else may have, too; so it is only done if the wish asks for it. */
export const isOwnName = (instance: Scene['instance'], { metadata }: AppOperation): boolean =>
  metadata.name?.startsWith(ownPrefix(instance)) === true;

/** The operation that the wish asks for; undefined if the instance is as it should be, or if trying again is up to a person. */
export function wantedOperation(scene: Scene, view: Extract<View, { kind: 'clear' }>): Beginning | undefined {
  const { instance, members, operations } = scene;
  const { revision, stopped = false } = instance.status ?? {};
  const isChanged = revision !== view.revision || members.some((member) => needsWork(member, isWanted(member, view.targets)));
  const type = revision === undefined ? 'deploy' : 'change';
  if (isChanged) return hasFailed(operations, type, view.revision) ? undefined : { type, revision: view.revision };
  if (instance.spec.stopped === stopped) return remedy(scene);
  const turn = instance.spec.stopped ? 'stop' : 'start';
  const turned = `${view.revision}-${instance.metadata.generation ?? 0}`;
  return hasFailed(operations, turn, turned) ? undefined : { type: turn, revision: turned };
}

/** A member that has failed waits for a person, who repairs it or takes it out of the placement. */
function needsWork({ status }: AppMember, wanted: boolean): boolean {
  const { state = 'pending', joined = false } = status ?? {};
  if (state === 'removed') return false;
  return wanted ? !joined && state === 'pending' : state !== 'failed' || joined;
}

/** Whether trying again is up to a person. A repair that has succeeded since then has removed the cause. */
function hasFailed(operations: readonly AppOperation[], type: string, revision: string): boolean {
  const begun = begunOperations(operations);
  const index = begun.findLastIndex(({ spec }) => spec.type === type || (fulfillingTypes.has(type) && fulfillingTypes.has(spec.type)));
  const last = begun[index];
  if (last?.status?.revision !== revision || (last.status.state !== 'failed' && last.status.state !== 'cancelled')) return false;
  return !begun.slice(index + 1).some(({ spec, status }) => spec.type === 'repair' && status?.state === 'succeeded');
}

/** In milliseconds: the pause after something that the platform began by itself, doubled with each in a row. */
const remedyPause = 300_000;
const mostRemedies = 3;

/** How many probes of a member must fail in a row before it is repaired: one may fail because the machine is busy for a moment. */
export const probesBeforeRepair = (app: Scene['app']): number => app?.spec.repairAfterProbes ?? 3;

/** The operation of an App that renews certificates, and how long before the first expires the platform begins it, in milliseconds. */
const renewal = 'rotate-certificates';
const renewalWindow = 30 * 86_400_000;

/** Certificates that nobody renews end the instance. Members that are only degraded, which they are for this reason, do not prevent it. */
function isRenewalDue(scene: Scene): boolean {
  const { instance, members, app, now } = scene;
  const expires = Date.parse(instance.status?.certificatesExpireAt ?? '');
  const begins = expires - renewalWindow;
  if (Number.isNaN(begins) || begins > now || !app?.spec.operations?.some(({ name }) => name === renewal)) return false;
  if (members.some(({ status }) => status?.joined === true && (status.health === 'failed' || status.health === 'unknown'))) return false;
  return isDue(scene, ({ spec, status }) => spec.type === renewal && Date.parse(status?.startedAt ?? '') >= begins);
}

/** The most members that may be unhealthy if the platform is to do something by itself: a third, and one of a small instance. */
const mostUnhealthy = (members: number): number => Math.max(1, Math.floor(members / 3));

/**
 * A renewal of certificates, a repair of one member that its adapter calls repairable, or a reconciliation of an instance that has drifted. If too many members are not healthy, something
 * else is wrong, and a person has to look.
 */
function remedy(scene: Scene): Beginning | undefined {
  const { instance, members } = scene;
  if (instance.spec.stopped || members.length === 0) return undefined;
  if (isRenewalDue(scene)) return { type: renewal, isAutomatic: true };
  const unhealthy = members.filter(
    ({ status }) => status?.joined === true && (status.health === 'failed' || status.health === 'degraded' || status.health === 'unknown'),
  );
  if (unhealthy.length > mostUnhealthy(members.length)) return undefined;
  const patient = unhealthy.find(
    ({ metadata, status }) =>
      status?.health === 'failed' &&
      status.repairable === true &&
      (status.failedProbes ?? 0) >= probesBeforeRepair(scene.app) &&
      isDue(scene, ({ spec }) => spec.type === 'repair' && spec.member === metadata.name),
  );
  if (patient !== undefined) return { type: 'repair', member: patient.metadata.name ?? '', isAutomatic: true };
  const drift = instance.status?.conditions?.find(({ type, status }) => type === 'InSync' && status === 'False');
  if (drift === undefined || !isFresh(scene)) return undefined;
  const since = Date.parse(drift.lastTransitionTime);
  const isForThis = ({ spec, status }: AppOperation): boolean =>
    spec.type === 'reconcile' && Date.parse(status?.startedAt ?? drift.lastTransitionTime) >= since;
  return isDue(scene, isForThis) ? { type: 'reconcile', isAutomatic: true } : undefined;
}

/**
 * Whether all members have been looked at since the last operation: before, they may have been other than it has left them. While the probe of a member runs, its last answer counts, which
 * may be somewhat older than the time between two probes.
 */
function isFresh({ instance, members, operations, probe }: Scene): boolean {
  const ended = begunOperations(operations).at(-1)?.status?.finishedAt;
  const { observedAt } = instance.status ?? {};
  if (ended === undefined || observedAt === undefined) return true;
  const longest = Math.max(0, ...members.map(({ metadata }) => probe(metadata.name ?? '')?.every ?? 0));
  return Date.parse(observedAt) >= Date.parse(ended) + 2 * longest;
}

/** Whether the platform may begin something by itself that it has begun before, in these operations. */
function isDue({ operations, now }: Scene, isSame: (operation: AppOperation) => boolean): boolean {
  const earlier = begunOperations(operations).filter((one) => isSame(one) && one.metadata.annotations?.[automaticAnnotation] !== undefined);
  const last = earlier.at(-1)?.status?.finishedAt;
  return earlier.length < mostRemedies && (last === undefined || Date.parse(last) + remedyPause * 2 ** (earlier.length - 1) <= now);
}
