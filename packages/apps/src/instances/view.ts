import { createHash } from 'node:crypto';
import type { AppMember } from '@capstan/api';
import { isObject } from '@capstan/machinery';
import type { Problem } from '../checking/problem.ts';
import { wishOf } from '../checking/wish.ts';
import type { Scene } from './scene.ts';
import { type Target, targetsOf } from './targets.ts';

/** The wish of an instance, as far as it can be fulfilled now. */
export type View =
  | { readonly kind: 'ask' }
  | { readonly kind: 'problem'; readonly problem: Problem; readonly isUnavailable: boolean }
  | { readonly kind: 'waiting'; readonly message: string; readonly targets: readonly Target[] }
  | { readonly kind: 'clear'; readonly targets: readonly Target[]; readonly version: string; readonly revision: string };

export function viewOf(scene: Scene): View {
  const { instance, app, wanted } = scene;
  if (app === undefined) {
    const message = `there is no App ${instance.spec.app} in the catalog`;
    return { kind: 'problem', problem: { code: 'NoApp', message, userFixable: true, retryable: true }, isUnavailable: true };
  }
  const wish = wishOf(instance, app);
  if (wish.kind === 'problem') return { ...wish, isUnavailable: false };
  if (wanted.kind === 'unasked') return { kind: 'ask' };
  if (wanted.kind === 'problem') return wanted;
  const found = targetsOf(wanted.value.members, app, scene.useOf);
  if (found.kind === 'problem') return { ...found, isUnavailable: false };
  const { targets, waiting } = found.value;
  const [first] = waiting;
  if (first !== undefined) return { kind: 'waiting', message: first, targets };
  const other = targets.find(({ name }) => scene.taken.has(name));
  if (other !== undefined) {
    const message = `the Allocation ${other.allocation} is used by the instance ${scene.taken.get(other.name)}`;
    return { kind: 'problem', problem: { code: 'AllocationInUse', message, userFixable: true, retryable: false }, isUnavailable: false };
  }
  const { version, placement, parameters } = wish.value;
  const members = targets.map(({ name, component }) => `${name} ${component}`).sort();
  return { kind: 'clear', targets, version, revision: revisionOf([version, placement, parameters, members]) };
}

function revisionOf(wish: unknown): string {
  return createHash('sha256').update(JSON.stringify(wish, sorted)).digest('hex').slice(0, 32);
}

/** The order in which somebody has written the fields says nothing. */
function sorted(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

export function isWanted({ metadata, spec }: AppMember, targets: readonly Target[]): boolean {
  return targets.some(({ name, component }) => name === metadata.name && component === spec.component);
}

/** Whether something of the instance may be on the node of the member. */
export function isTouched({ status }: AppMember): boolean {
  const state = status?.state ?? 'pending';
  return status?.joined === true || (state !== 'pending' && state !== 'removed');
}
