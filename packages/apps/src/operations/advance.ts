import type { AppError, AppOperationStatus, AppStep, NodeTask } from '@capstan/api';
import { formatTime, sameJson } from '@capstan/machinery';
import type { PlannedStep } from '../adapter/contract.ts';
import { outcomeOf } from './outcome.ts';
import { isOver, type OperationScene, type Start, type TaskReference } from './scene.ts';
import { attemptLimit, type Examined, ended, examine, failedAttempt, type Keep } from './steps.ts';
import { taskName } from './task-names.ts';
import { nextWindow, progressOf } from './window.ts';

/** The next thing to do for an operation with a plan. */
export type Advance =
  /** Ask the server for tasks that no copy has. */
  | { readonly kind: 'look'; readonly tasks: readonly TaskReference[] }
  | { readonly kind: 'read'; readonly tasks: readonly NodeTask[] }
  | { readonly kind: 'keep'; readonly keeps: readonly Keep[] }
  /** Read the facts, on which a step depends. */
  | { readonly kind: 'recall' }
  | { readonly kind: 'cancel'; readonly tasks: readonly NodeTask[] }
  | { readonly kind: 'start'; readonly starts: readonly Start[] }
  | { readonly kind: 'report'; readonly status: AppOperationStatus }
  /** All steps are over, and none keeps the operation from success. */
  | { readonly kind: 'complete' }
  | { readonly kind: 'wait'; readonly atMost?: number };

/** In milliseconds: how often something is looked at whose end nobody reports. */
const lookAgain = 10_000;
const mostErrors = 32;

/** Decides from the objects alone how an operation goes on. Its plan never changes, and every task has a name that follows from the operation, the step and the attempt. */
export function advance(scene: OperationScene): Advance {
  const planned = new Map(scene.plan.steps.map((step) => [step.id, step]));
  const before = scene.operation.status?.steps ?? [];
  const examined = before.map((step): Examined => {
    const plan = planned.get(step.id);
    return step.state === 'running' && plan !== undefined ? examine(step, plan, scene) : { step };
  });
  const needed = need(examined);
  if (needed !== undefined) return needed;
  const seen = examined.map(({ step }) => step);
  if (scene.facts === undefined && turnOf(seen).some(({ id }) => planned.get(id)?.when !== undefined)) return { kind: 'recall' };
  const steps = withSkips(seen, { planned, scene });
  const errors = errorsAfter(scene.operation.status?.errors ?? [], examined);
  if (scene.operation.spec.cancelled && scene.operation.spec.type !== 'decommission') return cancelled(steps, errors, scene);
  const verdict = verdictOf(steps, planned);
  const isBusy = steps.some(({ state }) => state === 'running');
  if (verdict !== undefined && !isBusy)
    return report(scene, { ...statusOf(steps, errors, scene), ...verdict, finishedAt: formatTime(new Date(scene.now)) });
  if (verdict === undefined && steps.every(isOver)) {
    const status = statusOf(steps, errors, scene);
    const window = nextWindow(scene.plan, steps, (step) => scene.task(scene.place(step.member ?? '').node, step.task ?? ''));
    if (window.kind === 'next') return { kind: 'report', status: statusOf(window.steps, errors, scene) };
    if (window.kind === 'tooManyFailures')
      return report(scene, { ...status, state: 'failed', message: window.message, finishedAt: formatTime(new Date(scene.now)) });
    return sameJson(status, scene.operation.status) ? { kind: 'complete' } : { kind: 'report', status };
  }
  return begin(steps, errors, { scene, planned, mayBegin: verdict === undefined });
}

/** Things to find out first, for all steps at once. */
function need(examined: readonly Examined[]): Advance | undefined {
  const looks = examined.flatMap((one) => one.looks ?? []);
  if (looks.length > 0) return { kind: 'look', tasks: looks };
  const reads = examined.flatMap((one) => one.reads ?? []);
  if (reads.length > 0) return { kind: 'read', tasks: reads };
  const keeps = examined.flatMap((one) => one.keeps ?? []);
  return keeps.length > 0 ? { kind: 'keep', keeps } : undefined;
}

interface Planned {
  readonly planned: ReadonlyMap<string, PlannedStep>;
  readonly scene: OperationScene;
}

/** The steps whose turn it is. */
function turnOf(steps: readonly AppStep[]): AppStep[] {
  const stage = Math.min(...steps.filter((step) => !isOver(step)).map((step) => step.stage));
  return steps.filter((step) => step.state === 'pending' && step.stage === stage);
}

/** A member that has failed takes part in nothing more of this operation, and nothing can be removed from a node that is gone. */
function withSkips(steps: readonly AppStep[], { planned, scene }: Planned): AppStep[] {
  const failed = new Set(
    steps.filter(({ id, state }) => state === 'failed' && planned.get(id)?.onFailure === 'degrade').map(({ member }) => member),
  );
  const turn = new Set(turnOf(steps).map(({ id }) => id));
  return steps.map((step) => {
    if (step.state !== 'pending') return step;
    const { when } = planned.get(step.id) ?? {};
    if (when !== undefined && turn.has(step.id) && scene.facts?.[when.fact] !== when.is)
      return { ...ended(step, 'skipped', scene.now), message: `only done if ${when.fact} is ${when.is}` };
    if (failed.has(step.member)) return { ...ended(step, 'skipped', scene.now), message: 'an earlier step of this member has failed' };
    const place = scene.place(step.member ?? '');
    const isRemoved = scene.operation.spec.type === 'decommission' || scene.plan.leaves?.includes(step.member ?? '') === true;
    return place.kind === 'gone' && isRemoved ? { ...ended(step, 'skipped', scene.now), message: place.message } : step;
  });
}

function errorsAfter(before: readonly AppError[], examined: readonly Examined[]): AppError[] {
  const settled = new Set(examined.filter(({ error }) => error !== undefined).map(({ step }) => step.id));
  const fresh = examined.flatMap(({ error }) => error ?? []);
  return [...fresh, ...before.filter(({ step }) => !settled.has(step ?? ''))].slice(0, mostErrors);
}

type Verdict = Pick<AppOperationStatus, 'state' | 'message' | 'instructions' | 'step'>;

/** A failure that ends the operation. */
function verdictOf(steps: readonly AppStep[], planned: ReadonlyMap<string, PlannedStep>): Verdict | undefined {
  const failed = steps.filter(({ state }) => state === 'failed' || state === 'cancelled');
  const meaning = ({ id }: AppStep): string => planned.get(id)?.onFailure ?? 'fail';
  const person = failed.find((step) => meaning(step) === 'intervene');
  const final = person ?? failed.find((step) => meaning(step) === 'fail');
  if (final === undefined) return undefined;
  const { instructions } = planned.get(final.id) ?? {};
  return {
    state: person === undefined ? 'failed' : 'needs_intervention',
    step: final.title,
    message: sentence(final),
    ...(instructions !== undefined && { instructions }),
  };
}

const sentence = ({ title, message }: AppStep): string => `${title} failed: ${message ?? 'it was cancelled'}`.slice(0, 4096);

function cancelled(steps: readonly AppStep[], errors: readonly AppError[], scene: OperationScene): Advance {
  const open = steps.filter(({ state }) => state === 'running').map((step) => ({ step, place: scene.place(step.member ?? '') }));
  const tasks = open.flatMap(({ step, place }) => scene.task(place.node, step.task ?? '') ?? []);
  const unmarked = tasks.filter((task) => !task.spec.cancelled && outcomeOf(task).kind === 'open');
  if (unmarked.length > 0) return { kind: 'cancel', tasks: unmarked };
  // An agent that is heard of again reads that the task is cancelled before it goes on.
  const silent = new Set(open.filter(({ place }) => place.kind !== 'heard').map(({ step }) => step.id));
  const next = steps.map((step) => (step.state === 'pending' || silent.has(step.id) ? ended(step, 'cancelled', scene.now) : step));
  if (next.some(({ state }) => state === 'running'))
    return report(scene, { ...statusOf(next, errors, scene), message: 'is being cancelled' });
  const { nextRetryAt: _, ...status } = statusOf(next, errors, scene);
  return report(scene, { ...status, state: 'cancelled', message: 'was cancelled', finishedAt: formatTime(new Date(scene.now)) });
}

interface Begin extends Planned {
  readonly mayBegin: boolean;
}

function begin(steps: readonly AppStep[], errors: readonly AppError[], { scene, planned, mayBegin }: Begin): Advance {
  const stage = Math.min(...steps.filter((step) => !isOver(step)).map((step) => step.stage));
  const starts: Start[] = [];
  const fresh: AppError[] = [];
  const next = steps.map((step): AppStep => {
    const plan = planned.get(step.id);
    if (step.state !== 'pending' || step.stage !== stage || plan === undefined || !mayBegin || scene.isPaused) return step;
    const place = scene.place(plan.member);
    if (place.kind === 'gone') {
      const error = { code: place.code, message: place.message, userFixable: true, retryable: false };
      const failure = failedAttempt(step, plan, { scene, error });
      if (failure.error) fresh.push(failure.error);
      return failure.step;
    }
    if (place.kind === 'silent') return { ...step, message: `waits for the node ${place.node}, which is silent` };
    if (step.nextRetryAt !== undefined && Date.parse(step.nextRetryAt) > scene.now) return step;
    const attempts = (step.attempts ?? 0) + 1;
    const name = taskName(scene.plan.operation, step.id, attempts);
    if (scene.task(place.node, name) === undefined) {
      starts.push({ step: plan, node: place.node, name });
      return step;
    }
    const { message: _message, nextRetryAt: _retry, ...rest } = step;
    return {
      ...rest,
      state: 'running',
      task: name,
      // Tenants who read the operation may read the output of steps that name their node.
      ...(plan.keepsSecret === undefined && { node: place.node }),
      attempts,
      tries: (step.tries ?? 0) + 1,
      startedAt: step.startedAt ?? formatTime(new Date(scene.now)),
    };
  });
  const status = statusOf(next, [...fresh, ...errors], scene, planned);
  // The end of the stage before is stored before the next one begins.
  if (starts.length > 0 && sameStates(next, scene.operation.status?.steps ?? [])) return { kind: 'start', starts };
  return report(scene, status);
}

function sameStates(one: readonly AppStep[], other: readonly AppStep[]): boolean {
  return one.length === other.length && one.every((step, index) => step.state === other[index]!.state || step.state === 'running');
}

function report(scene: OperationScene, status: AppOperationStatus): Advance {
  if (!sameJson(status, scene.operation.status)) return { kind: 'report', status };
  const retryAt = status.nextRetryAt === undefined ? undefined : Date.parse(status.nextRetryAt) - scene.now;
  return { kind: 'wait', atMost: Math.max(250, Math.min(retryAt ?? lookAgain, lookAgain)) };
}

/** The status that follows from the steps. */
function statusOf(
  steps: readonly AppStep[],
  errors: readonly AppError[],
  { operation, isPaused, plan, now }: OperationScene,
  planned: ReadonlyMap<string, PlannedStep> = new Map(plan.steps.map((step) => [step.id, step])),
): AppOperationStatus {
  const {
    message: _m,
    nextRetryAt: _n,
    attempts: _a,
    attemptLimit: _l,
    instructions: _i,
    step: _s,
    errors: _e,
    finishedAt: _f,
    ...kept
  } = operation.status ?? {};
  const open = steps.filter((step) => !isOver(step));
  const stage = Math.min(...open.map((step) => step.stage));
  const current = open.find(({ state }) => state === 'running') ?? open.find((step) => step.stage === stage);
  const retries = open.flatMap(({ nextRetryAt }) => nextRetryAt ?? []).sort();
  const isRetrying = retries.length > 0 && !open.some(({ state }) => state === 'running');
  const message = isPaused && !open.some(({ state }) => state === 'running') ? 'waits, as the instance is paused' : messageOf(open, stage);
  const limit = current && planned.get(current.id);
  return {
    ...kept,
    state: isRetrying ? 'retrying' : 'processing',
    ...(current && { step: current.title }),
    ...(message !== undefined && open.length > 0 && { message }),
    ...(current?.tries !== undefined && limit && { attempts: current.tries, attemptLimit: attemptLimit(limit) }),
    ...(retries[0] !== undefined && { nextRetryAt: retries[0] }),
    progress: progressOf(plan, steps),
    startedAt: kept.startedAt ?? formatTime(new Date(now)),
    steps: [...steps],
    ...(errors.length > 0 && { errors: errors.slice(0, mostErrors) }),
  };
}

function messageOf(open: readonly AppStep[], stage: number): string | undefined {
  const waiting = open.filter((step) => step.message !== undefined && step.stage === stage);
  const [first] = waiting;
  if (first === undefined) return undefined;
  const more = waiting.length > 1 ? ` (and ${waiting.length - 1} more)` : '';
  return `${first.title}: ${first.message}${more}`.slice(0, 4096);
}
