import type { AppInstance, GPUUnit } from '@capstan/api';
import type { Tone } from '../../components/status.tsx';
import { outputLines, standingOf as standingOfInstance, stateOf as stateOfInstance } from '../apps/state.ts';
import { type Advice, adviceFor } from '../units/advice.ts';
import { askedFor, isOver, lastLinesOf, nodesOf, stateOf } from '../units/state.ts';

/** Attention: somebody should look, or it is not usable yet. Active: people use it. Over: nothing of it runs. */
export type Standing = 'attention' | 'active' | 'over';

/** Everything that people run, in the form in which the first page lists it. Kinds of products join this union. */
export type Workload = UnitWorkload | AppWorkload;

interface Common {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly standing: Standing;
  readonly tone: Tone;
  readonly word: string;
  readonly reason: string;
  readonly advice: Advice | undefined;
  /** The end of its output, if it failed. */
  readonly lastLine: string | undefined;
  /** The resources that it has or asks for. */
  readonly resources: string;
  readonly place: string;
  /** Time of the last change of its state, as far as it is known. */
  readonly since: string | undefined;
}

export interface UnitWorkload extends Common {
  readonly kind: 'unit';
  readonly unit: GPUUnit;
}

export interface AppWorkload extends Common {
  readonly kind: 'app';
  readonly instance: AppInstance;
}

export function workloadOfUnit(unit: GPUUnit): UnitWorkload {
  const { name = '', namespace = '', creationTimestamp } = unit.metadata;
  const { startedAt, finishedAt } = unit.status ?? {};
  return {
    kind: 'unit',
    id: `unit ${namespace}/${name}`,
    name,
    namespace,
    ...stateOf(unit),
    standing: standingOf(unit),
    advice: adviceFor(unit),
    lastLine: unit.status?.phase === 'Failed' ? lastLinesOf(unit).findLast((line) => line.trim() !== '') : undefined,
    resources: askedFor(unit),
    place: nodesOf(unit),
    since: (isOver(unit) ? finishedAt : startedAt) ?? creationTimestamp ?? undefined,
    unit,
  };
}

export function workloadOfInstance(instance: AppInstance): AppWorkload {
  const { name = '', namespace = '', creationTimestamp } = instance.metadata;
  const { members, lastErrors = [], conditions = [], version } = instance.status ?? {};
  const state = stateOfInstance(instance);
  const output = state.tone === 'bad' ? lastErrors.find((error) => error.output !== undefined)?.output : undefined;
  return {
    kind: 'app',
    id: `app ${namespace}/${name}`,
    name,
    namespace,
    ...state,
    standing: standingOfInstance(instance),
    advice: adviceForInstance(instance),
    lastLine: outputLines(output).findLast((line) => line.trim() !== ''),
    resources: [instance.spec.app, version ?? instance.spec.version].filter(Boolean).join(' '),
    place: members === undefined || members.total === 0 ? '' : `${members.healthy} of ${members.total} members healthy`,
    since: conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? creationTimestamp ?? undefined,
    instance,
  };
}

/** The next thing to do about an instance that is not as it should be. */
function adviceForInstance(instance: AppInstance): Advice | undefined {
  const { tone, word } = stateOfInstance(instance);
  if (word === 'Retrying') return { text: 'It is tried again by itself.', place: 'detail', action: 'Open' };
  if (word === 'Needs help') return { text: 'It waits for a person; the page says what to do.', place: 'detail', action: 'See what to do' };
  if (tone === 'bad' || tone === 'warn') return { text: '', place: 'detail', action: 'Open' };
  return undefined;
}

function standingOf(unit: GPUUnit): Standing {
  const { word } = stateOf(unit);
  if (word === 'Running') return 'active';
  return word === 'Stopped' || word === 'Succeeded' || word === 'Deleting' || word === 'Stopping' ? 'over' : 'attention';
}

/** How many workloads there are of each kind. */
export function kindsOf(workloads: readonly Workload[]): readonly { readonly kind: Workload['kind']; readonly amount: number }[] {
  return [...Map.groupBy(workloads, ({ kind }) => kind)].map(([kind, of]) => ({ kind, amount: of.length }));
}

const urgency: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, busy: 2, good: 3, idle: 4 };

/** The worst first, then the newest. */
export function byUrgency(one: Workload, other: Workload): number {
  return urgency[one.tone] - urgency[other.tone] || (other.since ?? '').localeCompare(one.since ?? '');
}
