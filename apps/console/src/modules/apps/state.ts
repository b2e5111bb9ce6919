import {
  type AppInstance,
  type AppMember,
  type AppStep,
  appPreviewAnnotation,
  finalOperationStates,
  type OperationState,
} from '@capstan/api';
import type { Tone } from '../../components/status.tsx';
import { cleanLine } from '../logs/clean-line.ts';

/** An instance, a member or an operation as people see it. */
export interface AppState {
  readonly tone: Tone;
  readonly word: string;
  /** Why it is so, in one sentence; empty if there is nothing to say. */
  readonly reason: string;
}

/** Attention: somebody should look, or it is not usable yet. Active: people use it. Over: nothing of it runs. */
export type InstanceStanding = 'attention' | 'active' | 'over';

/** Whether it exists only so that somebody can see the plan. */
export const isPreview = ({ metadata }: AppInstance): boolean => metadata.annotations?.[appPreviewAnnotation] !== undefined;

const isRemoved = ({ metadata }: AppInstance): boolean => metadata.deletionTimestamp !== undefined;

/** Whether an operation is under way, and nobody has to do anything for it. */
export function isWorking({ status }: AppInstance): boolean {
  const state = status?.lastOperation?.state;
  return state !== undefined && state !== 'needs_intervention' && !finalOperationStates.has(state);
}

export function stateOf(instance: AppInstance): AppState {
  const { message = '', lastErrors = [], lastOperation } = instance.status ?? {};
  const reason = message || lastErrors[0]?.message || '';
  if (isPreview(instance)) return { tone: 'idle', word: 'Plan only', reason: 'nothing is done until somebody deploys it' };
  if (lastOperation?.state === 'needs_intervention') return { tone: 'bad', word: 'Needs help', reason };
  if (lastOperation?.state === 'retrying') return { tone: 'warn', word: 'Retrying', reason: lastOperation.message || reason };
  if (isRemoved(instance)) return { ...(lastOperation?.state === 'failed' ? failed : { tone: 'busy', word: 'Removing' }), reason };
  return { ...settledState(instance), reason };
}

type Face = Pick<AppState, 'tone' | 'word'>;
const failed: Face = { tone: 'bad', word: 'Failed' };

function settledState(instance: AppInstance): Face {
  const { spec, status } = instance;
  switch (status?.state) {
    case undefined:
    case 'pending':
      if (status?.health === 'failed') return failed;
      return spec.paused ? { tone: 'idle', word: 'Paused' } : { tone: 'warn', word: 'Waiting' };
    case 'deploying':
      return { tone: 'busy', word: 'Deploying' };
    case 'failed':
      return status.lastOperation?.state === 'cancelled' ? { tone: 'warn', word: 'Cancelled' } : failed;
    case 'removing':
      return { tone: 'busy', word: 'Removing' };
    case 'stopped':
      return isWorking(instance) && !spec.stopped ? { tone: 'busy', word: 'Starting' } : { tone: 'idle', word: 'Stopped' };
    case 'running':
      return runningState(instance);
  }
}

function runningState(instance: AppInstance): Face {
  if (isWorking(instance) && instance.spec.stopped) return { tone: 'busy', word: 'Stopping' };
  switch (instance.status?.health) {
    case 'healthy':
      return { tone: 'good', word: 'Running' };
    case 'progressing':
      return { tone: 'busy', word: isWorking(instance) ? 'Changing' : 'Running' };
    case 'degraded':
      return { tone: 'warn', word: 'Degraded' };
    case 'failed':
      return { tone: 'bad', word: 'Unhealthy' };
    default:
      return { tone: 'warn', word: 'Unknown' };
  }
}

export function standingOf(instance: AppInstance): InstanceStanding {
  const { tone, word } = stateOf(instance);
  if (tone === 'bad' || tone === 'warn') return 'attention';
  if (tone === 'idle' || word === 'Removing' || word === 'Stopping') return 'over';
  return instance.status?.state === 'running' ? 'active' : 'attention';
}

/** How much of the present work is done; undefined if nothing is under way. */
export function progressOf(instance: AppInstance): { readonly share: number; readonly text: string } | undefined {
  const { progress, lastOperation } = instance.status ?? {};
  const isOpen = lastOperation !== undefined && lastOperation.state !== 'succeeded' && lastOperation.state !== 'cancelled';
  if (!isOpen || progress === undefined || progress.total === 0) return undefined;
  return { share: Math.min(1, progress.completed / progress.total), text: `${progress.completed} of ${progress.total} steps` };
}

/** When the platform tries again by itself: a time, or `soon`. Undefined if it does not. */
export function retriesAt({ status }: AppInstance): string | undefined {
  const { state, health, lastOperation } = status ?? {};
  if (lastOperation?.state === 'retrying') return lastOperation.nextRetryAt ?? 'soon';
  return lastOperation === undefined && state === 'pending' && health !== 'failed' ? 'soon' : undefined;
}

const operationFaces: Readonly<Record<OperationState, Face>> = {
  pending: { tone: 'warn', word: 'Waiting' },
  processing: { tone: 'busy', word: 'In progress' },
  retrying: { tone: 'warn', word: 'Retrying' },
  succeeded: { tone: 'good', word: 'Succeeded' },
  failed,
  cancelled: { tone: 'idle', word: 'Cancelled' },
  needs_intervention: { tone: 'bad', word: 'Needs help' },
};

export const operationFace = (state: OperationState | undefined): Face => operationFaces[state ?? 'pending'];

const stepFaces: Readonly<Record<AppStep['state'], Face>> = {
  pending: { tone: 'idle', word: 'Waiting' },
  running: { tone: 'busy', word: 'Running' },
  succeeded: { tone: 'good', word: 'Done' },
  skipped: { tone: 'idle', word: 'Skipped' },
  failed,
  cancelled: { tone: 'idle', word: 'Cancelled' },
};

/** A step that has failed and is tried again by itself is not a failed one. */
export function stepFace({ state, nextRetryAt }: AppStep): Face {
  if (nextRetryAt !== undefined && (state === 'failed' || state === 'pending')) return { tone: 'warn', word: 'Retrying' };
  return stepFaces[state];
}

const memberTones: Readonly<Record<string, Tone>> = {
  pending: 'warn',
  joining: 'busy',
  running: 'good',
  draining: 'warn',
  stopped: 'idle',
  failed: 'bad',
  removing: 'busy',
  removed: 'idle',
};
const healthTones: Readonly<Record<string, Tone>> = {
  progressing: 'busy',
  healthy: 'good',
  degraded: 'warn',
  failed: 'bad',
  unknown: 'warn',
};

export function memberFace({ status }: AppMember): Face {
  const { state = 'pending' } = status ?? {};
  return { tone: memberTones[state] ?? 'idle', word: state[0]!.toUpperCase() + state.slice(1) };
}

export function healthFace(health: string | undefined): Face {
  return health === undefined
    ? { tone: 'idle', word: '–' }
    : { tone: healthTones[health] ?? 'idle', word: health[0]!.toUpperCase() + health.slice(1) };
}

/** Who reported something: the instance itself, or the agent of a node. */
export const reporterWords = (source: string): string =>
  source.startsWith('agent/') ? `the agent of ${source.slice(6)}` : 'the app itself';

/** The report of an instance about itself, in few words: `training, 3 of 10: epoch 3`. */
export function reportWords({ phase, progress, message }: NonNullable<NonNullable<AppInstance['status']>['reported']>): string {
  const done = progress === undefined ? '' : `, ${progress.completed} of ${progress.total}`;
  return `${phase}${done}${message === undefined || message === '' ? '' : `: ${cleanLine(message)}`}`;
}

/** The same of a member. */
export function memberReportFace({ healthy, message }: NonNullable<NonNullable<AppMember['status']>['reported']>): Face {
  const word = healthy ? 'Healthy' : 'Unhealthy';
  return { tone: healthy ? 'good' : 'bad', word: message === undefined || message === '' ? word : `${word}: ${cleanLine(message)}` };
}

/** The end of the output of something that failed, as plain text. */
export const outputLines = (output: string | undefined): readonly string[] => (output ?? '').trimEnd().split('\n').map(cleanLine);
