import type { AppOperationStatus, AppStep, NodeTask } from '@capstan/api';
import type { PlannedStep } from '../adapter/contract.ts';
import type { KeptPlan } from './scene.ts';

/** The most steps in the status of an operation, which is written with every change. The schema of AppOperation has the same limit. */
const mostShown = 512;
/** The most steps of earlier windows that stay in the status. */
const mostCarried = 256;

/*
 * The status of an operation has a window of its plan. When all steps of the window are over, the next window takes its place. It begins with the steps of earlier windows that still
 * matter at the end: failures, and findings of residues. All others have succeeded or were not needed.
 */

type PlanPart = Pick<KeptPlan, 'steps' | 'leaves'>;

/** The first window; undefined if the operation has one. Steps of a plan that was made again keep the results that they have. */
export function firstWindow({ steps }: PlanPart, before: readonly AppStep[] | undefined): AppStep[] | undefined {
  if (before !== undefined && isWindow(before, steps)) return undefined;
  const done = new Map((before ?? []).map((step) => [step.id, step]));
  return steps.slice(0, mostShown).map((planned) => {
    const known = done.get(planned.id);
    if (known?.state === 'succeeded') return known;
    return { ...pendingStep(planned), ...(known?.attempts !== undefined && { attempts: known.attempts }) };
  });
}

/** Only the last window has room. */
function isWindow(shown: readonly AppStep[], steps: readonly PlannedStep[]): boolean {
  if (steps.length <= mostShown) return shown.length === steps.length && steps.every(({ id }, index) => shown[index]!.id === id);
  const ids = new Set(steps.map(({ id }) => id));
  return (shown.length === mostShown || shown.at(-1)?.id === steps.at(-1)?.id) && shown.every(({ id }) => ids.has(id));
}

export type NextWindow =
  | { readonly kind: 'last' }
  | { readonly kind: 'next'; readonly steps: AppStep[] }
  /** So many steps have failed that going on makes no sense. */
  | { readonly kind: 'tooManyFailures'; readonly message: string };

/** The window after one whose steps are all over. */
export function nextWindow(plan: PlanPart, steps: readonly AppStep[], task: (step: AppStep) => NodeTask | undefined): NextWindow {
  const end = endOf(plan, steps);
  if (end >= plan.steps.length) return { kind: 'last' };
  const carried = carriedSteps(plan, steps, task);
  if (carried.length > mostCarried) {
    const failed = new Set(carried.filter(({ state }) => state === 'failed').map(({ member }) => member)).size;
    return { kind: 'tooManyFailures', message: `steps of ${failed} members have failed, which is too many to go on` };
  }
  return { kind: 'next', steps: [...carried, ...plan.steps.slice(end, end + mostShown - carried.length).map(pendingStep)] };
}

/** How many steps of the whole plan are over. */
export function progressOf(plan: PlanPart, steps: readonly AppStep[]): NonNullable<AppOperationStatus['progress']> {
  const open = steps.filter(({ state }) => state === 'pending' || state === 'running').length;
  return { completed: endOf(plan, steps) - open, total: plan.steps.length };
}

/** Members whose steps have all succeeded, or were not needed. */
export function finishedMembers(plan: PlanPart, steps: readonly AppStep[]): Set<string> {
  const left = new Set(steps.filter(({ state }) => state !== 'succeeded').map(({ member }) => member));
  for (const { member } of plan.steps.slice(endOf(plan, steps))) left.add(member);
  return new Set(plan.steps.flatMap(({ member }) => (left.has(member) ? [] : [member])));
}

/** The steps of a plan that is only shown: as many as there is room for, after those that are skipped. */
export const shownSteps = ({ steps }: PlanPart, skipped = 0): AppStep[] => steps.slice(skipped, skipped + mostShown).map(pendingStep);

export function pendingStep({ id, title, stage, member, phase }: PlannedStep): AppStep {
  return { id, title, stage, member, ...(phase !== undefined && { phase }), state: 'pending' };
}

/** The place in the plan after the last step of a window. */
function endOf(plan: PlanPart, steps: readonly AppStep[]): number {
  const last = steps.at(-1)?.id;
  return last === undefined ? 0 : plan.steps.findIndex(({ id }) => id === last) + 1;
}

function carriedSteps(plan: PlanPart, steps: readonly AppStep[], task: (step: AppStep) => NodeTask | undefined): AppStep[] {
  const planned = new Map(plan.steps.map((step) => [step.id, step]));
  const leaves = new Set(plan.leaves);
  const failed = new Set(steps.filter(({ state }) => state === 'failed').map(({ member }) => member));
  return steps.filter((step) => {
    const { when, reportsResidue } = planned.get(step.id) ?? {};
    if (step.state === 'succeeded') return reportsResidue === true && (task(step)?.status?.report ?? []).length > 0;
    if (step.state !== 'skipped') return true;
    // One step is enough to name a member from which nothing could be removed.
    if (when !== undefined || !leaves.has(step.member ?? '') || failed.has(step.member)) return false;
    failed.add(step.member);
    return true;
  });
}
