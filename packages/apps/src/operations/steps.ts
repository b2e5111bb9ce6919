import type { AppError, AppStep, NodeTask, TaskError } from '@capstan/api';
import { backoffAfter, formatTime } from '@capstan/machinery';
import type { PlannedStep } from '../adapter/contract.ts';
import { outcomeOf } from './outcome.ts';
import type { OperationScene, TaskReference } from './scene.ts';

/** How a step goes on. Needs are satisfied before it can. */
export interface Examined {
  readonly step: AppStep;
  /** Undefined: the error that it had stays. Null: it has none any more. */
  readonly error?: AppError | null;
  readonly looks?: TaskReference;
  readonly reads?: NodeTask;
  readonly keeps?: Keep;
}

/** The output of a task that becomes a fact or a secret. */
export interface Keep {
  readonly step: PlannedStep;
  readonly task: NodeTask;
}

const defaultAttempts = 3;
/** In milliseconds: the pauses between attempts. */
const pauses = { base: 5_000, max: 300_000 };
const mostOutput = 16_000;

export const attemptLimit = ({ attempts = defaultAttempts }: PlannedStep): number => attempts;

/** A step that runs. */
export function examine(step: AppStep, planned: PlannedStep, scene: OperationScene): Examined {
  const place = scene.place(planned.member);
  const name = step.task ?? '';
  const task = scene.task(place.node, name);
  if (task === undefined) {
    if (!scene.absent.has(name)) return { step, looks: { node: place.node, name } };
    const message = `the task ${name} has disappeared from the node ${place.node}`;
    return failedAttempt(step, planned, { scene, error: { code: 'TaskLost', message, userFixable: false, retryable: true } });
  }
  const outcome = outcomeOf(task);
  switch (outcome.kind) {
    case 'open':
      return waiting(step, task, scene);
    case 'cancelled':
      return { step: ended(step, 'cancelled', scene.now), error: null };
    case 'succeeded':
      return succeeded(step, planned, { task, scene });
    case 'failed': {
      const output = scene.output(task);
      if (output.kind === 'unread') return { step, reads: task };
      // The output of a step that makes a secret may have it, or a part of it.
      const isShown = output.kind === 'read' && planned.keepsSecret === undefined;
      return failedAttempt(step, planned, { scene, error: outcome.error, task, ...(isShown && { output: output.text }) });
    }
  }
}

function waiting(step: AppStep, task: NodeTask, scene: OperationScene): Examined {
  const place = scene.place(step.member ?? '');
  if (place.kind === 'silent') return { step: { ...step, message: `waits for the node ${place.node}, which is silent` } };
  if (place.kind === 'gone') {
    const error = { code: place.code, message: place.message, userFixable: false, retryable: false };
    return { step: { ...ended(step, 'failed', scene.now), message: place.message }, error: errorOf(step, error, scene.now) };
  }
  const { message: _, ...rest } = step;
  return { step: task.status?.step === undefined ? rest : { ...rest, message: task.status.step } };
}

function succeeded(
  step: AppStep,
  planned: PlannedStep,
  { task, scene }: { readonly task: NodeTask; readonly scene: OperationScene },
): Examined {
  const { name = '' } = task.metadata;
  const place = scene.place(planned.member);
  if ((planned.keepsFact !== undefined || planned.keepsSecret !== undefined) && !scene.kept.has(name)) {
    // Its end says that it was cut, so a part of it must never become a value.
    if (task.status?.output?.truncated === true) return failedAttempt(step, planned, { scene, error: lostOutput(place.node), task });
    const output = scene.output(task);
    if (output.kind === 'unread') return { step, reads: task };
    if (output.kind === 'unavailable')
      return { step: { ...step, message: `waits for the output of the task ${name}: ${output.message}`.slice(0, 1024) } };
    return { step, keeps: { step: planned, task } };
  }
  return { step: ended(step, 'succeeded', scene.now), error: null };
}

const lostOutput = (node: string): TaskError => ({
  code: 'OutputLost',
  message: `the node ${node} had no room for all of the output, which later steps need`,
  userFixable: false,
  retryable: true,
});

interface Failure {
  readonly scene: OperationScene;
  readonly error: TaskError;
  readonly task?: NodeTask;
  readonly output?: string;
}

export function failedAttempt(step: AppStep, planned: PlannedStep, { scene, error: found, task, output = '' }: Failure): Examined {
  const { tries = 1 } = step;
  const error = { ...found, message: messageOf(found, output) };
  const place = scene.place(planned.member);
  const problem: AppError = {
    ...errorOf(step, { ...error, code: codeOf(planned, task) ?? error.code }, scene.now),
    ...(task && { task: `${place.node}/${task.metadata.name}` }),
    ...(output !== '' && { output: output.slice(-mostOutput) }),
  };
  const message = error.message.slice(0, 1024);
  if (!error.retryable || tries >= attemptLimit(planned)) return { step: { ...ended(step, 'failed', scene.now), message }, error: problem };
  const nextRetryAt = formatTime(new Date(scene.now + backoffAfter(tries - 1, pauses)));
  return { step: { ...step, state: 'pending', message, nextRetryAt }, error: problem };
}

/** Scripts end with a line `error: …` when they fail, also within the lines of a probe. apt-get names the cause in the first line `E: …`. */
const complaints = /^(?:attempt \d+: exit code \d+: )?error: (.+)$/gm;
const aptComplaint = /^E: (.+)$/m;
const longestReason = 1024;

/** The reason in the words of the program, which people understand better than an exit code. */
function messageOf({ code, message }: TaskError, output: string): string {
  const reason = [...output.matchAll(complaints)].at(-1)?.[1] ?? aptComplaint.exec(output)?.[1];
  if (reason === undefined) return message;
  return (code === 'CommandFailed' ? reason : `${message}: ${reason}`).slice(0, longestReason);
}

/** An exit code says most, then the step. */
function codeOf({ code, exitCodes = {} }: PlannedStep, task: NodeTask | undefined): string | undefined {
  return exitCodes[String(task?.status?.exitCode)] ?? code;
}

function errorOf({ id, member }: AppStep, { code, message, userFixable, retryable }: TaskError, now: number): AppError {
  return { code, message, userFixable, retryable, step: id, ...(member !== undefined && { member }), time: formatTime(new Date(now)) };
}

export function ended({ message: _message, nextRetryAt: _retry, ...step }: AppStep, state: AppStep['state'], now: number): AppStep {
  return { ...step, state, finishedAt: formatTime(new Date(now)) };
}
